import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { usageFailure } from "../failure.ts";
import { type Io, readTextOrStdin } from "../io.ts";

/** The options for how a deployment is carried out, as commander passes them. */
export interface ExecutionOptions {
  readonly dryRun?: boolean;
  readonly urgent?: boolean;
  /** Bytes. */
  readonly maxDownload?: number;
  /** Seconds. */
  readonly waitForDevice?: number;
  readonly registryUser?: string;
  readonly registryPasswordFile?: string;
  readonly registryTokenFile?: string;
}

/** Returns the fields of the request's body for these options. Errors: exit code 2. */
export async function readExecutionOptions(
  options: ExecutionOptions,
  io: Io,
): Promise<Readonly<Record<string, unknown>>> {
  const registryAuth = await readRegistryAuth(options, io);
  return {
    ...(registryAuth && { registry_auth: registryAuth }),
    ...(options.maxDownload !== undefined && { max_download_bytes: options.maxDownload }),
    ...(options.urgent && { urgent: true }),
    ...(options.waitForDevice !== undefined && { wait_for_device_s: options.waitForDevice }),
  };
}

/** Returns the credentials that the options give, if they give any. Errors: exit code 2. */
export async function readRegistryAuth(
  options: Pick<ExecutionOptions, "registryUser" | "registryPasswordFile" | "registryTokenFile">,
  io: Io,
): Promise<RegistryAuth | undefined> {
  const { registryUser, registryPasswordFile, registryTokenFile } = options;
  if (registryTokenFile !== undefined) {
    if (registryUser !== undefined) throw usageFailure("Give --registry-user or --registry-token-file, not both.");
    return { token: await readSecret(registryTokenFile, io) };
  }
  if (registryUser === undefined) {
    if (registryPasswordFile === undefined) return undefined;
    throw usageFailure("A registry password needs a user.", "Give --registry-user too.");
  }
  if (registryPasswordFile !== undefined) {
    return { username: registryUser, password: await readSecret(registryPasswordFile, io) };
  }
  const fromEnvironment = io.env.EDGECTL_REGISTRY_PASSWORD;
  if (fromEnvironment) return { username: registryUser, password: fromEnvironment };
  if (io.stdin.isTTY) {
    return { username: registryUser, password: await io.stdin.readSecret(`Password of ${registryUser}: `) };
  }
  throw usageFailure(
    "No registry password is given, and there is no terminal to ask for one.",
    "Give --registry-password-file FILE (- for standard input), or set EDGECTL_REGISTRY_PASSWORD.",
  );
}

async function readSecret(file: string, io: Io): Promise<string> {
  const secret = (await readTextOrStdin(file, io)).replace(/\r?\n$/, "");
  if (secret === "") throw usageFailure(`${file === "-" ? "Standard input" : file} is empty.`);
  return secret;
}
