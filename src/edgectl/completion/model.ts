import type { Command, Option } from "commander";

/** What a shell can offer at one place of the command line. */
export interface CompletionNode {
  /** Names of the commands that lead here, such as `["assets", "list"]`; empty for edgectl itself. */
  readonly path: readonly string[];
  /** Commands below this one, and words its argument has to be one of. */
  readonly words: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletionOption[];
}

export interface CompletionOption {
  /** `--file`, and `-f` where there is a short form. */
  readonly flags: readonly string[];
  readonly description: string;
  /** What follows the option: one of a few words, a file, anything, or nothing. */
  readonly value: "none" | "any" | "file" | readonly string[];
}

/** Reads what the command line understands out of its definition, so that completion cannot fall behind. */
export function completionNodes(program: Command): CompletionNode[] {
  return visit(program, [], program.options.map(toOption));
}

function visit(command: Command, path: readonly string[], inherited: readonly CompletionOption[]): CompletionNode[] {
  const own = path.length === 0 ? [] : command.options.map(toOption);
  const node: CompletionNode = {
    path,
    words: [
      ...command.commands.map((child) => ({ name: child.name(), description: child.description() })),
      ...command.registeredArguments.flatMap((argument) =>
        (argument.argChoices ?? []).map((name) => ({ name, description: argument.description })),
      ),
    ],
    options: [...own, ...inherited, HELP],
  };
  return [node, ...command.commands.flatMap((child) => visit(child, [...path, child.name()], inherited))];
}

const HELP: CompletionOption = { flags: ["-h", "--help"], description: "show help", value: "none" };

function toOption(option: Option): CompletionOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined && flag !== null);
  return { flags, description: option.description, value: valueOf(option) };
}

function valueOf(option: Option): CompletionOption["value"] {
  if (!option.required && !option.optional) return "none";
  if (option.argChoices) return option.argChoices;
  return /<file>/.test(option.flags) ? "file" : "any";
}
