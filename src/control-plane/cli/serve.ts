import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { configSchema, DATA_DIR_VARIABLE } from "../config.ts";
import { loadConfig } from "../load-config.ts";
import type { CliContext } from "./context.ts";

/** `serve`, with an option for every configuration key. */
export function addServeCommand(program: Command, context: CliContext): void {
  const serve = program
    .command("serve")
    .description("run the control plane until it is stopped by SIGTERM or SIGINT")
    .option("--config <file>", "configuration file (JSON)");
  for (const [key, schema] of Object.entries(configSchema.shape)) {
    const isNumber = takesNumber(schema);
    const flag = `--${key.replaceAll("_", "-")} <${isNumber ? "number" : "value"}>`;
    const description = schema.meta()?.description ?? "";
    const option = new Option(flag, description);
    if (key === "data_dir") option.env(DATA_DIR_VARIABLE);
    serve.addOption(isNumber ? option.argParser(parseNumber) : option);
  }
  serve.action(async (options: Readonly<Record<string, string | number>>) => {
    const { config, ...given } = options;
    const overrides = Object.fromEntries(
      Object.keys(configSchema.shape).flatMap((key) => {
        const value = given[toCamelCase(key)];
        return value === undefined ? [] : [[key, value]];
      }),
    );
    await context.serve(loadConfig(config === undefined ? undefined : String(config), overrides));
  });
}

function takesNumber(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return "innerType" in def ? takesNumber(def.innerType) : def.type === "number";
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || Number.isNaN(value)) throw new InvalidArgumentError("must be a number");
  return value;
}

function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
