# lineage(1) completion for fish. The words come from `lineage complete`, which knows the options of every command.

function __lineage_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for answer in ($words[1] complete $words[2..-1] "$word" 2>/dev/null)
        switch $answer
            case :file
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- $word)
            case :directory
                __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $word) ''
            case '*'
                printf '%s\n' $answer
        end
    end
end

complete -c lineage -f -a '(__lineage_complete)'
