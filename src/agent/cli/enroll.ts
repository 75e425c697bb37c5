import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { deadline } from "../../lib/clock.ts";
import { createLogger } from "../../lib/logger.ts";
import { VERSION } from "../../lib/version.ts";
import { type Enrolment, parseEnrolmentCode } from "../../protocol/assets/enrolment.ts";
import type { Config } from "../config/load.ts";
import type { ProbeContext } from "../doctor/probe.ts";
import { ConfigError } from "../config/config-error.ts";
import { checkConnectivity } from "../enrolment/check-connectivity.ts";
import { controlPlaneAddress, exchangeCode } from "../enrolment/exchange.ts";
import { makeDirectory, type NewConfig, newConfig, storeConfig } from "../enrolment/new-config.ts";

import { readBootId } from "../host/boot-id.ts";
import { toLinkConfig } from "../link/to-link-config.ts";
import { deleteNonce, loadOrCreateNonce } from "../enrolment/nonce.ts";
import { tryLink, type TryOutcome } from "../link/try-link.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { EXIT, CommandError } from "./exit-code.ts";

const HELP = `
Checks the address, the path to it and its certificate before anything is changed, and a token by linking once as the
agent does. Then stores the token in the directory of the configuration, readable by the service only, and sets the
address in the configuration. Other settings stay.

A code is created with "edge-control asset enrolment-code" and works once, for a limited time. The device's old token
works until the new one is used. After a power cut, run the same command again within 15 minutes. The token file must
contain only the token. Use - as code or file to read it from standard input.

Examples:
  sudo edge-agent enroll --url https://control.example.com --code 7K3MQ-XW9TD
  sudo edge-agent enroll --url https://control.site.lan --ca site-ca.pem --code 7K3MQ-XW9TD
  sudo edge-agent enroll --url wss://control.example.com/v1/agent --token-file token.txt

Exit codes: 0 enrolled, 1 refused or not reachable (nothing was changed), 2 wrong usage or unusable files.`;

const EXCHANGE_TIMEOUT_MS = 30_000;

export function addEnroll(program: Command, register: Register): void {
  const command = program
    .command("enroll")
    .description("give this device its control plane and its token")
    .requiredOption("--url <url>", "address of the control plane, such as https://control.example.com")
    .option("--code <code>", "one-time enrolment code")
    .option("--ca <file>", "certificate of the authority that issued the control plane's, as PEM; is copied")
    .option("--token-file <file>", "file with the token the device was registered with, in place of a code");
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const { code, tokenFile, ca } = options as Readonly<Record<"code" | "tokenFile" | "ca", string | undefined>>;
    if ((code === undefined) === (tokenFile === undefined)) {
      throw new CommandError(EXIT.usage, "Give either --code or --token-file.", "See: edge-agent enroll --help");
    }
    const isCode = code !== undefined;
    const secret = isCode ? parseCode(code) : readToken(tokenFile ?? "");
    const config = configFor(context.configPath, String(options["url"]), isCode ? "" : secret, ca);
    const blocked = await checkConnectivity(await createProbeContext(context, config), !isCode);
    if (blocked) throw refused(blocked.reason, blocked.next);
    const asset = isCode ? await enrolWithCode(context, config, secret) : await enrolWithToken(context, config);
    report(context, config, asset);
    return EXIT.ok;
  });
}

/** Speaks of the address as it was typed. */
function configFor(path: string, typed: string, token: string, caFile: string | undefined): NewConfig {
  const ca = caFile === undefined ? undefined : readCertificate(caFile);
  try {
    return newConfig(path, controlPlaneAddress(typed), token, ca);
  } catch (error) {
    if (!(error instanceof ConfigError) || !/^https?:/i.test(typed)) throw error;
    throw new ConfigError(error.message.replaceAll("wss://", "https://").replaceAll("ws://", "http://"));
  }
}

function readCertificate(path: string): string {
  const pem = readSecret(path);
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return `${pem}\n`;
  throw new CommandError(EXIT.usage, `${path} does not contain a PEM certificate.`);
}

async function createProbeContext({ io, configPath }: Context, config: NewConfig): Promise<ProbeContext> {
  const { clock, device } = io;
  const { host, openReader: openStore, readClock } = device;
  const engine = await io.device.createEngine(config);
  const createRegistryPing = (known: Config) => io.device.createRegistryPing(known, engine);
  const who = { isService: false, callerProxy: undefined };
  const files = { config, settings: config, configPath };
  return { ...files, ...who, clock, host, engine, openStore, readClock, createRegistryPing, agentVersion: VERSION };
}

async function enrolWithToken(context: Context, config: NewConfig): Promise<Enrolment["asset"]> {
  const outcome = await link(context, config);
  if (!outcome.ok) throw refused(outcome.reason);
  write("The token is good, but it could not be stored", () => storeConfig(config));
  return outcome.asset;
}

async function enrolWithCode(context: Context, config: NewConfig, code: string): Promise<Enrolment["asset"]> {
  const { clock, interrupted } = context.io;
  const attempt = join(dirname(resolve(config.device_token_file)), ".enrolment");
  const nonce = write("Nothing was changed: this user cannot store a token here", () => {
    makeDirectory(config.path);
    return loadOrCreateNonce(attempt, code);
  });
  using limit = deadline(clock, EXCHANGE_TIMEOUT_MS, interrupted);
  const exchanged = await exchangeCode(config, { code, nonce }, clock.now(), limit.signal);
  if (!exchanged.ok) throw refused(exchanged.reason, exchanged.next);
  const { device_token: token, asset } = exchanged.enrolment;
  const enrolled = { ...config, token };
  // Stored before the link: the first link with the new token invalidates the old one.
  write("The code was exchanged, but its token could not be stored", () => storeConfig(enrolled));
  deleteNonce(attempt);
  const outcome = await link(context, enrolled);
  if (!outcome.ok) context.printer.note(`The token is stored, but linking with it failed: ${outcome.reason}.`);
  return asset;
}

function report({ printer, configPath }: Context, config: NewConfig, asset: Enrolment["asset"]): void {
  if (printer.json) return printer.document({ enrolled: asset, config: configPath });
  printer.raw(
    `Enrolled: the control plane knows this device as ${asset.serial_number} (${asset.name}), ${asset.uuid}.`,
  );
  printer.raw(`Written: ${configPath} and ${config.device_token_file}.`);
  printer.line("Restart the agent so that it uses them: sudo systemctl restart edge-agent");
}

async function link({ io }: Context, config: NewConfig): Promise<TryOutcome> {
  const logger = await createLogger({ name: "edge-agent", level: "fatal", fd: 2, pretty: false });
  const options = { config: toLinkConfig(config, readBootId()), clock: io.clock, logger, agentVersion: VERSION };
  return await tryLink(options, io.interrupted);
}

function refused(reason: string, next?: string): CommandError {
  return new CommandError(EXIT.wrong, `Not enrolled, nothing was changed: ${reason}.`, next);
}

function write<T>(failure: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    throw new CommandError(EXIT.usage, `${failure} (${code}).`, "Run it as root: sudo edge-agent enroll ...");
  }
}

function parseCode(given: string): string {
  const code = parseEnrolmentCode(given === "-" ? readSecret(given) : given);
  if (code !== undefined) return code;
  throw new CommandError(
    EXIT.usage,
    "Not a valid enrolment code: expected ten letters and digits, such as 7K3MQ-XW9TD.",
  );
}

function readToken(path: string): string {
  const token = readSecret(path);
  if (/^ed_[\x21-\x7e]+$/.test(token)) return token;
  throw new CommandError(
    EXIT.usage,
    `${path} does not contain a device token: expected a line that begins with ed_, without spaces.`,
  );
}

function readSecret(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw new CommandError(EXIT.usage, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
}
