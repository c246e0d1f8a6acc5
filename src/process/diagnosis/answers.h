/* answers.h - the rules that turn a diagnosis into findings, ranked by what they could save. */
#ifndef PASTA_PROCESS_ANSWERS_H
#define PASTA_PROCESS_ANSWERS_H

#include <pasta/diagnosis.h>
#include <pasta/tool.h>

struct pasta_answers;

/* Applies all rules to a finished diagnosis. Returns NULL when out of memory. */
struct pasta_answers *pasta_answers_new(struct pasta_diagnosis *d);
const struct pasta_answer *pasta_answers_next(const struct pasta_answers *as, size_t *at);

/* -- For answers.c and rules*.c only -- */

/*
 * A possible finding about one device. Drafts of the same rule, device and subject become one, and
 * then drafts of the same rule and subject on several devices.
 */
struct answer_draft {
	uint32_t rule, proc, device;
	/* The subject: the id of a line or of a name; 0: the whole device. */
	uint32_t subject;
	uint32_t detail;      /* interned: the operator, API call, or layer; 0: none */
	uint32_t devices;     /* number of devices to which the finding applies */
	double saving, share; /* ns of the window, and its percentage of the window */
	uint64_t count;	      /* gaps, copies, chains or launches */
	uint64_t steps;	      /* number of steps of the window in which the cause occurs */
	double least, most;   /* numbers for the evidence; the rule defines them */
};

/* The diagnosis of one device, on which the rules work. */
struct answer_device {
	struct pasta_diagnosis *d;
	struct pasta_answers *answers;
	const struct pasta_usage *usage;
	const struct pasta_window *window;
	const struct pasta_process_info *process;
	const struct pasta_device_info *info;
	struct pasta_peaks peaks;
};

/* Adds a draft. The function sets proc, device, devices and share. */
void pasta_answers_draft(const struct answer_device *device, struct answer_draft draft);

/* Returns the ns of the device that the rules about kernels claim so far. */
double pasta_answers_of_kernels(const struct answer_device *device);

void pasta_rules_of_gaps(const struct answer_device *device);
void pasta_rules_of_copies(const struct answer_device *device);
void pasta_rules_of_work(const struct answer_device *device);
void pasta_rules_of_ranks(const struct answer_device *device);
/* Sets the texts of an answer. Returns false when out of memory. */
bool pasta_answer_texts(const struct pasta_answers *as, const struct answer_draft *draft,
			struct pasta_answer *answer);
/* Returns the window of a process, or NULL. */
const struct pasta_window *pasta_answers_window(struct pasta_diagnosis *d, uint32_t proc);
const struct pasta_usage *pasta_answers_usage(struct pasta_diagnosis *d, uint32_t proc,
					      uint32_t device);
struct pasta_diagnosis *pasta_answers_diagnosis(const struct pasta_answers *as);

#endif
