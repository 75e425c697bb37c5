import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import type { DeploymentView } from "./deployment-view.ts";
import { JsonView } from "./json-view.ts";
import { PlainView } from "./plain-view.ts";
import { TerminalView } from "./terminal-view.ts";

/** The view that suits standard output and `--json`. */
export function createDeploymentView(io: Io, reporter: Printer): DeploymentView {
  if (reporter.json) return new JsonView(reporter);
  if (!isTerminal(io.stdout, io.env)) return new PlainView(reporter);
  return new TerminalView({ output: io.stdout, theme: reporter.theme, clock: io.clock });
}
