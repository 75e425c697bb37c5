import type { CompletionNode, CompletionOption } from "./model.ts";

/** Returns the completion script for zsh. */
export function zshCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter((node) => node.path.length > 0).map((node) => quote(node.path.join(" ")));
  return `#compdef edgectl
# edgectl completion for zsh. Try it: eval "$(edgectl completion zsh)"
_edgectl() {
  local at="" word i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    word="\${at:+$at }\${words[i]}"
    case "$word" in
      ${paths.join(" | ")}) at="$word" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${nodes.flatMap(valueCases).join("\n")}
  esac
  case "$at" in
${nodes.map(wordCase).join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  fi
}
compdef _edgectl edgectl`;
}

function valueCases({ path, options }: CompletionNode): string[] {
  return options
    .filter((option) => option.value !== "none")
    .map((option) => {
      const patterns = option.flags.map((flag) => quote(`${path.join(" ")} ${flag}`)).join(" | ");
      return `    ${patterns}) ${action(option.value)}; return ;;`;
    });
}

function action(value: CompletionOption["value"]): string {
  if (typeof value === "string") return value === "file" ? "_files" : ":";
  return `compadd -- ${value.join(" ")}`;
}

function wordCase({ path, words, options }: CompletionNode): string {
  const commands = words.map(({ name, description }) => quote(`${name}:${description}`));
  const flags = options.flatMap(({ flags, description }) =>
    flags.map((flag) => quote(`${flag}:${description.replaceAll(":", "\\:")}`)),
  );
  return `    ${quote(path.join(" "))}) commands=(${commands.join(" ")}); options=(${flags.join(" ")}) ;;`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
