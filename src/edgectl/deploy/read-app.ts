import { readFile } from "node:fs/promises";
import type { PortMapping, Volume } from "../../protocol/app-spec.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { type AppFlags, buildAppRequest, parseAppFile } from "./app-request.ts";
import { parseEnv, parseEnvFile } from "./parse-env.ts";

/** The options of `deploy` that describe the app, as commander hands them over. */
export interface AppOptions {
  readonly file?: string;
  readonly name?: string;
  readonly image?: string;
  readonly port?: readonly PortMapping[];
  readonly env?: readonly string[];
  readonly envFile?: readonly string[];
  readonly volume?: readonly Volume[];
  readonly hostNetwork?: boolean;
  readonly privileged?: boolean;
}

/** Reads the files the options name and makes the deploy request. Errors: exit code 2 */
export async function readApp(options: AppOptions, io: Io): Promise<Readonly<Record<string, unknown>>> {
  if (options.file === undefined && (options.image === undefined || options.name === undefined)) {
    throw usageFailure("It is not said what to deploy.", "Give an app file with -f, or both --name and --image.");
  }
  const file = options.file === undefined ? undefined : await readAppFile(options.file, io);
  const environments = new Map<string, string>();
  for (const name of options.envFile ?? []) {
    for (const { key, value } of parseEnvFile(await readText(name), io.env, name)) environments.set(key, value);
  }
  for (const { key, value } of (options.env ?? []).map((text) => parseEnv(text, io.env))) environments.set(key, value);
  const flags: AppFlags = {
    name: options.name,
    image: options.image,
    ports: options.port ?? [],
    environments: [...environments].map(([key, value]) => ({ key, value })),
    volumes: options.volume ?? [],
    hostNetwork: options.hostNetwork,
    privileged: options.privileged,
  };
  return buildAppRequest(file, flags);
}

async function readAppFile(name: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  if (name === "-") return parseAppFile(await io.stdin.readAll(), "Standard input");
  return parseAppFile(await readText(name), name);
}

async function readText(name: string): Promise<string> {
  try {
    return await readFile(name, "utf8");
  } catch (error) {
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
}
