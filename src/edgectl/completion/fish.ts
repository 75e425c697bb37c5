import type { CompletionNode, CompletionOption } from "./model.ts";

/** Returns the completion script for fish. */
export function fishCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter((node) => node.path.length > 0).map((node) => quote(node.path.join(" ")));
  return `# edgectl completion for fish. Try it: edgectl completion fish | source
function __edgectl_at
    set -l at
    for word in (commandline -opc)[2..]
        if contains -- (string join -- ' ' $at $word) ${paths.join(" ")}
            set -a at $word
        end
    end
    test "$(string join -- ' ' $at)" = "$argv[1]"
end
complete -c edgectl -f
${nodes.flatMap(linesOf).join("\n")}`;
}

function linesOf({ path, words, options }: CompletionNode): string[] {
  const head = `complete -c edgectl -n ${quote(`__edgectl_at '${path.join(" ")}'`)}`;
  return [
    ...words.map(({ name, description }) => `${head} -a ${name} -d ${quote(description)}`),
    ...options.map((option) => `${head} ${optionArguments(option)}`),
  ];
}

function optionArguments({ flags, description, value }: CompletionOption): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, ...valueArguments(value), `-d ${quote(description)}`].join(" ");
}

function valueArguments(value: CompletionOption["value"]): string[] {
  if (value === "none") return [];
  if (value === "file") return ["-r", "-F"];
  return value === "any" ? ["-x"] : ["-x", `-a ${quote(value.join(" "))}`];
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
