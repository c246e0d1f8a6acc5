# opencl_ffmpeg.sh - ffmpeg with two OpenCL filters makes the same frames, byte by byte.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need ffmpeg
ffmpeg -hide_banner -filters 2>/dev/null | grep -q unsharp_opencl || skip "this ffmpeg has no OpenCL filters"

filter=(ffmpeg -hide_banner -loglevel error -init_hw_device opencl=cl:0.0 -filter_hw_device cl
	-f lavfi -i testsrc=size=320x240:rate=25:duration=2
	-vf "format=yuv420p,hwupload,avgblur_opencl=sizeX=3,unsharp_opencl,hwdownload,format=yuv420p"
	-f framemd5 -)
"${filter[@]}" >native.out 2>native.err </dev/null
is "native: status" $? 0
counted run "${filter[@]}"
is "status" $? 0
is "frames" "$(cat run.out)" "$(cat native.out)"
is "stderr" "$(cat run.err)" "$(cat native.err)"
is "frames, counted" "$(grep -vc '^#' run.out)" 50
"$dump" run >run.dump || failed "dump"
"${events[@]}" counts run.dump run.count || failed "not what the layer counted"

if hot hot -- "${filter[@]}"; then
	is "hotness: frames" "$(cat hot.out)" "$(cat native.out)"
	is "hotness: stderr" "$(cat hot.err)" "$(cat native.err)"
	# 61 by each work-item of unsharp, 117,760 of them a frame, 50 frames; images are not counted.
	is "hotness: counted" "$(accessed hot)" "359168000 accesses"
fi
done_
