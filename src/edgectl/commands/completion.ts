import { Argument, type Command } from "commander";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { completionNodes } from "../completion/model.ts";
import { zshCompletion } from "../completion/zsh.ts";
import { createContext } from "../context.ts";
import type { Io } from "../io.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
type Shell = keyof typeof SHELLS;

export function addCompletion(program: Command, io: Io): void {
  program
    .command("completion")
    .description("print a script that completes edgectl's words in your shell")
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(SHELLS)))
    .addHelpText(
      "after",
      `
bash:  echo 'eval "$(edgectl completion bash)"' >> ~/.bashrc
zsh:   echo 'eval "$(edgectl completion zsh)"' >> ~/.zshrc   (after compinit)
fish:  edgectl completion fish > ~/.config/fish/completions/edgectl.fish`,
    )
    .action((shell: Shell, _options: unknown, command: Command) => {
      const { printer } = createContext(io, command);
      const script = SHELLS[shell](completionNodes(program));
      printer.result({ shell, script }, () => script);
    });
}
