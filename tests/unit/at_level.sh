#!/bin/sh
# at_level.sh: a test once more, at a vector level below the one at which this processor runs it anyway.
#
# usage: sh tests/unit/at_level.sh sse2|avx2 PROGRAM...
level=$1
shift
case " $(grep -m 1 '^flags' /proc/cpuinfo) " in
*' avx512vl '*) lower='sse2 avx2' ;;
*' avx2 '*) lower=sse2 ;;
*) lower= ;;
esac
case " $lower " in
*" $level "*) ;;
*) echo "skipped: $level is not below the level of this processor" && exit 77 ;;
esac
# What cli/support/blas_env.c chooses for programs that `lineage` starts.
LINEAGE_VECTOR_LEVEL=$level
case $level in
sse2) OPENBLAS_CORETYPE=PRESCOTT GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F ;;
avx2) OPENBLAS_CORETYPE=HASWELL GLIBC_TUNABLES= ;;
esac
export LINEAGE_VECTOR_LEVEL OPENBLAS_CORETYPE GLIBC_TUNABLES
exec "$@"
