import type { CompletionNode } from "./model.ts";

/** Returns the completion script for bash. */
export function bashCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter((node) => node.path.length > 0).map((node) => `"${node.path.join(" ")}"`);
  return `# edgectl completion for bash. Try it: eval "$(edgectl completion bash)"
_edgectl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${at:+$at }\${COMP_WORDS[i]}"
    case "$word" in
      ${paths.join(" | ")}) at="$word" ;;
    esac
  done
  case "$at $prev" in
${nodes.flatMap(valueCases).join("\n")}
  esac
  local words=""
  case "$at" in
${nodes.map(wordCase).join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _edgectl edgectl`;
}

function valueCases({ path, options }: CompletionNode): string[] {
  return options
    .filter((option) => option.value !== "none")
    .map((option) => {
      const patterns = option.flags.map((flag) => `"${path.join(" ")} ${flag}"`).join(" | ");
      return `    ${patterns}) ${action(option.value)}; return ;;`;
    });
}

// An empty reply makes bash fall back to file names (-o default).
function action(value: "none" | "any" | "file" | readonly string[]): string {
  if (typeof value === "string") return value === "file" ? "COMPREPLY=()" : 'COMPREPLY=("$cur")';
  return `mapfile -t COMPREPLY < <(compgen -W "${value.join(" ")}" -- "$cur")`;
}

function wordCase({ path, words, options }: CompletionNode): string {
  const flags = options.flatMap((option) => option.flags.filter((flag) => flag.startsWith("--")));
  const names = words.map((word) => word.name);
  return `    "${path.join(" ")}") words="${names.join(" ")}"; [[ $cur == -* ]] && words="${flags.join(" ")}" ;;`;
}
