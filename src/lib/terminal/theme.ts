import { styleText } from "node:util";
import type { Output } from "./output.ts";

type Paint = (text: string) => string;

/** Colours and characters for one output, as far as its terminal and locale support them. */
export interface Theme {
  /** Whether the paint functions add escape sequences. */
  readonly hasColour: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
  readonly tick: string;
  readonly bullet: string;
  readonly barFull: string;
  readonly barEmpty: string;
  readonly spinner: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** Creates the theme of an output: colour only on a terminal and without NO_COLOR (https://no-color.org). */
export function createTheme(output: Output, env: Env): Theme {
  const colour = isTerminal(output, env) && !env.NO_COLOR;
  const paint = (format: Parameters<typeof styleText>[0]): Paint =>
    colour ? (text) => styleText(format, text, { validateStream: false }) : (text) => text;
  const unicode = supportsUnicode(env);
  return {
    hasColour: colour,
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
    tick: unicode ? "✓" : "ok",
    bullet: unicode ? "•" : "-",
    barFull: unicode ? "█" : "#",
    barEmpty: unicode ? "░" : ".",
    spinner: unicode ? ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] : ["|", "/", "-", "\\"],
  };
}

/** Whether lines on this output can be rewritten. */
export function isTerminal(output: Output, env: Env): boolean {
  return output.isTTY === true && env.TERM !== "dumb";
}

// In POSIX's order: the first variable that is set decides.
function supportsUnicode(env: Env): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
}
