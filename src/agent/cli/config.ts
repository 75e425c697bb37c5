import type { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import { maskedConfig } from "../config/masked.ts";
import { type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";

const HELP = `
Exit codes: 0 it is valid, 2 it is not.`;

export function addConfig(program: Command, register: Register): void {
  const group = program.command("config").description("check or show the configuration");
  const check = group.command("check").description("say whether the configuration is valid, and what is wrong");
  register(withCommonOptions(check).addHelpText("after", HELP), async ({ printer, configPath }) => {
    const { control_plane_url: url } = loadConfig(configPath);
    if (printer.json) printer.document({ file: configPath, valid: true, control_plane_url: url });
    else printer.raw(`${configPath} is valid; the control plane is ${url}`);
    return EXIT.ok;
  });
  const show = group
    .command("show")
    .description("print the configuration in force, defaults filled in, secrets masked");
  register(withCommonOptions(show).addHelpText("after", HELP), async ({ printer, configPath }) => {
    const { token: _token, extraCa: _extraCa, path: _path, ...file } = loadConfig(configPath);
    printer.document(maskedConfig(file));
    return EXIT.ok;
  });
}
