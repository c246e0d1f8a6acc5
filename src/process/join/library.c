/* library.c - recognizes source files of Python's libraries, as opposed to files of the program. */
#include "process/join/library.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * The names of modules and packages whose files may be recorded without their folder. PyTorch's
 * profiler removes the folders of sys.path from names of files, so that "torch/nn/functional.py",
 * "contextlib.py" and the program's own "train.py" look alike. The list has the modules of Python's
 * standard library, without names that programs often use for their own files, and well-known
 * packages. The list is sorted by strcmp.
 */
static const char *const library_names[] = {
	"PIL",
	"_pytest",
	"abc",
	"accelerate",
	"apex",
	"ast",
	"asyncio",
	"attr",
	"bdb",
	"bisect",
	"bitsandbytes",
	"cProfile",
	"codecs",
	"collections",
	"concurrent",
	"configparser",
	"contextlib",
	"contextvars",
	"copy",
	"copyreg",
	"csv",
	"ctypes",
	"cupy",
	"cupy_backends",
	"cupyx",
	"dataclasses",
	"datetime",
	"decimal",
	"deepspeed",
	"dgl",
	"diffusers",
	"dis",
	"distutils",
	"einops",
	"encodings",
	"enum",
	"flash_attn",
	"flax",
	"fractions",
	"fsspec",
	"functools",
	"genericpath",
	"getopt",
	"gettext",
	"glob",
	"gzip",
	"hashlib",
	"heapq",
	"hmac",
	"huggingface_hub",
	"ignite",
	"importlib",
	"inspect",
	"io",
	"jax",
	"jaxlib",
	"joblib",
	"json",
	"keras",
	"lightning",
	"lightning_fabric",
	"lightning_utilities",
	"linecache",
	"locale",
	"logging",
	"lzma",
	"megatron",
	"multiprocessing",
	"nturl2path",
	"numba",
	"numpy",
	"opcode",
	"operator",
	"optax",
	"optparse",
	"os",
	"packaging",
	"pandas",
	"pathlib",
	"pdb",
	"peft",
	"pickle",
	"pkgutil",
	"pluggy",
	"posixpath",
	"pprint",
	"pstats",
	"pydoc",
	"pyopencl",
	"pytest",
	"pytools",
	"pytorch_lightning",
	"ray",
	"re",
	"reprlib",
	"requests",
	"runpy",
	"safetensors",
	"scipy",
	"selectors",
	"sentence_transformers",
	"sglang",
	"shutil",
	"six",
	"sklearn",
	"socket",
	"socketserver",
	"sqlite3",
	"ssl",
	"struct",
	"subprocess",
	"sysconfig",
	"tarfile",
	"tempfile",
	"tensordict",
	"tensorflow",
	"textwrap",
	"threading",
	"timeit",
	"timm",
	"tokenize",
	"tokenizers",
	"torch",
	"torch_geometric",
	"torchaudio",
	"torchdata",
	"torchmetrics",
	"torchvision",
	"tqdm",
	"traceback",
	"transformer_engine",
	"transformers",
	"triton",
	"trl",
	"typing",
	"typing_extensions",
	"unittest",
	"urllib",
	"urllib3",
	"uuid",
	"vllm",
	"warnings",
	"weakref",
	"xformers",
	"xml",
	"yaml",
	"zipfile",
	"zipimport",
};

/* A part of a path between two separators. */
struct part {
	const char *text;
	size_t length;
};

static struct part library_part(const char *path)
{
	return (struct part){path, strcspn(path, "/\\")};
}

static bool library_part_is(const struct part *part, const char *name)
{
	return part->length == strlen(name) && !memcmp(part->text, name, part->length);
}

/* Returns whether a part of a path is the name of the folder of Python's standard library, such as
 * "python3.11" or, on Debian, "python3", or of the file that contains it, such as
 * "python311.zip". */
static bool library_part_is_python(const struct part *part)
{
	return part->length > 6 && !memcmp(part->text, "python", 6) &&
	       isdigit((unsigned char)part->text[6]);
}

static bool library_part_is_lib(const struct part *part)
{
	return library_part_is(part, "lib") || library_part_is(part, "lib64") ||
	       library_part_is(part, "Lib");
}

static int library_compare(const void *key, const void *name)
{
	const struct part *part = key;
	const char *other = *(const char *const *)name;
	int order = strncmp(part->text, other, part->length);

	return order ? order : other[part->length] ? -1 : 0;
}

/* Returns whether a relative path is in a known package, or is a known module. */
static bool library_is_named(const char *file)
{
	struct part first = library_part(file);

	if (!file[first.length] && first.length > 3 && !memcmp(file + first.length - 3, ".py", 3))
		first.length -= 3;
	return first.length &&
	       bsearch(&first, library_names, sizeof(library_names) / sizeof(*library_names),
		       sizeof(*library_names), library_compare);
}

bool pasta_library_has(const char *file)
{
	struct part part, before = {"", 0};

	if (*file != '/' && *file != '\\' && !(*file && file[1] == ':') && library_is_named(file))
		return true;
	for (const char *at = file; *at; at += part.length + (at[part.length] != '\0')) {
		part = library_part(at);
		/* The last part is the file itself. */
		if (!at[part.length])
			break;
		if (library_part_is(&part, "site-packages") ||
		    library_part_is(&part, "dist-packages") ||
		    (library_part_is_lib(&before) && library_part_is_python(&part)) ||
		    (library_part_is(&before, "python") && library_part_is(&part, "accelprof")))
			return true;
		before = part.length ? part : before;
	}
	return false;
}
