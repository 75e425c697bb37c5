import { readFile } from "node:fs/promises";

/** Returns the first block of shell commands below a heading of a page, as it is printed. */
export async function documentedCommands(page: string, heading: string): Promise<string> {
  const text = await readFile(page, "utf8");
  const [, below] = text.split(new RegExp(`^#+ ${heading}$`, "m"));
  const commands = /^```sh\n(.*?)^```$/ms.exec(below ?? "")?.[1];
  if (commands === undefined) throw new Error(`${page} has no commands below "${heading}"`);
  return commands;
}
