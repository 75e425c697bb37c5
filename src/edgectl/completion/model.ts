import type { Command, Option } from "commander";

/** The completions at one position of the command line. */
export interface CompletionNode {
  /** Names of the commands up to here, such as `["assets", "list"]`; empty for edgectl itself. */
  readonly path: readonly string[];
  /** Subcommands, and the allowed values of the argument. */
  readonly words: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletionOption[];
}

export interface CompletionOption {
  /** `--file`, and `-f` if there is a short form. */
  readonly flags: readonly string[];
  readonly description: string;
  /** The option's value: one of a few words, a file, anything, or none. */
  readonly value: "none" | "any" | "file" | readonly string[];
}

/** Derives the completions from the definition of the command line, so that they are always current. */
export function completionNodes(program: Command): CompletionNode[] {
  return visit(program, [], shownOptions(program));
}

function visit(command: Command, path: readonly string[], inherited: readonly CompletionOption[]): CompletionNode[] {
  const own = path.length === 0 ? [] : shownOptions(command);
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

function shownOptions(command: Command): CompletionOption[] {
  return command.options.filter(({ hidden }) => !hidden).map(toOption);
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
