#!/bin/sh
# voice.sh: finds wording that has to be read twice, in everything that people read: comments, help, messages, pages.
#
# usage: sh tests/voice.sh [PATH...]      (default: the whole tree; exit status 0 if it finds nothing)
#
# It prints one line per finding: file:line: [pattern] text. A sentence that is right although it matches is listed in
# tests/voice_exceptions, as a piece of the line behind the file's path. The lint only finds what a machine can find;
# the rules themselves are in schema/VOICE.md.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

case ${1:-} in
-h | --help) sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "tests/voice.sh" && exit 0 ;;
esac

# One pattern per line: what to write instead, a tab, and a Perl regular expression.
patterns()
{
    cat <<'END'
name the subject (a caller that ..)	(?:^|[.;:,(*/"#]\s*|\b(?:for|to|of|by|as|and|or|but|with|from|than|if|that|what|so|is|are) )[Ww]ho (?:reads|has|have|asks|wants|writes|waits|holds|looks|knows|comes|goes|takes|can|may|would|does|gets|gives|calls|uses|needs|makes|runs|is|was|says|keeps|opens|sees|follows|begins|plans)\b
"is not a .."	(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|one\b|such\b)[a-z]
"is", "is defined", "is written"	\b[Ss]tands?\b(?! for\b| in for\b| alone\b|-|ard| out\b| by (?:itself|themselves)\b)
a sentence needs a verb	^\s*(?:/\*+|\*|//|#)\s*(?:Of|Also of|Those of|That of|Likewise for|The same for|The same of) [a-z]
the number itself: N, at most N	\b[Ss]o (?:many|long|much)\b(?! that\b| as\b| more\b)
the argument's name	\bwhat (?:is|was|were) given\b|\bwhat came\b
"is reported", "prints ..", "calls .."	\b(?:is|are|was|were|be|been) (?:said|told)\b(?! apart\b)
"unchanged", "the original"	\bas (?:it|they) (?:is|are|was|were)\b(?! (?:called|written|read|printed|run|used|sent|made))
"exits", "finishes", "ends"	\bcom(?:es?|ing) to an end\b|\b(?:is|are|was) over\b(?! (?:a|an|the|all|[0-9])\b)
END
}

if [ $# -eq 0 ]; then
    set -- README.md CMakeLists.txt src include cli schema tests fixtures
fi
git ls-files -co --exclude-standard -- "$@" |
    grep -E '\.(c|h|def|sh|py|md|7|1|txt|cmake|sql|css|js|awk|fish|bash|json)$|/_lineage$' |
    grep -vE '^tests/(fuzz/corpus/|voice\.sh$)|^schema/(VOICE|CHANGELOG)\.md$|^fixtures/.*\.(json|txt|sh|py)$|^fixtures/real/histories/|^fixtures/(cases|golden|edge|experiments/[^/]*)/.*\.md$' |
    while IFS= read -r path; do [ -f "$path" ] && printf '%s\n' "$path"; done >"${TMPDIR:-/tmp}/voice.$$"
trap 'rm -f "${TMPDIR:-/tmp}/voice.$$"' EXIT
patterns | PATHS="${TMPDIR:-/tmp}/voice.$$" perl -CSD -e '
    use strict;
    my (@pattern, %allowed, $found);
    while (<STDIN>) { chomp; my ($instead, $regex) = split /\t/, $_, 2; push @pattern, [$instead, qr/$regex/]; }
    if (open my $in, "<", "tests/voice_exceptions") {
        while (<$in>) { chomp; next if /^#/ || !/\S/; my ($path, $text) = split /: /, $_, 2; push @{$allowed{$path}}, $text; }
    }
    open my $paths, "<", $ENV{PATHS} or die;
    while (my $path = <$paths>) {
        chomp $path;
        open my $in, "<", $path or next;
        LINE: while (my $line = <$in>) {
            chomp $line;
            for my $p (@pattern) {
                next unless $line =~ $p->[1];
                for my $text (@{$allowed{$path} || []}) { next LINE if index($line, $text) >= 0; }
                $line =~ s/^\s+//;
                print "$path:$.: [$p->[0]] $line\n";
                $found++;
                last;
            }
        }
    }
    printf "%d finding%s\n", $found // 0, ($found // 0) == 1 ? "" : "s";
    exit($found ? 1 : 0);'
