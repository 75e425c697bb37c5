import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { createLogger } from "../../lib/logger.ts";
import { VERSION } from "../../lib/version.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { type Config, parseConfig } from "../config/load.ts";
import { toLinkConfig } from "../config/settings.ts";
import { checkOf, culprits, type Verdicts } from "../core/doctor.ts";
import type { Probe } from "../doctor/probe.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";
import { tryLink, type TryOutcome } from "../link/try-link.ts";
import type { Register } from "./commands.ts";
import { type Context, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { Failure } from "./failure.ts";

const HELP = `
Checks the address, the way to it, its certificate and the token, by linking once as the agent does, before it writes
anything. Then it stores the token beside the configuration, readable by the service only, and puts the address into
the configuration; whatever else stands there stays. The token file may hold nothing but the token; - reads it from
standard input.

Example:
  sudo edge-agent enroll --url wss://control.example.com/v1/agent --token-file token.txt

Exit codes: 0 enrolled, 1 refused or not reachable (nothing was changed), 2 wrong usage or unusable files.`;

const TOKEN_MODE = 0o600;
const CONFIG_MODE = 0o640;
/** What makes a link impossible, before the token is asked about. */
const ON_THE_WAY: ReadonlySet<string> = new Set([
  "config",
  "clock",
  "interface",
  "dns",
  "tcp",
  "proxy",
  "tls",
  "token",
]);

export function addEnroll(program: Command, register: Register): void {
  const command = program
    .command("enroll")
    .description("give this device its control plane and its token")
    .requiredOption("--url <url>", "address of the control plane: wss://HOST/v1/agent")
    .requiredOption("--token-file <file>", "file with the token the device was registered with");
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const { printer, configPath } = context;
    const config = newConfig(configPath, String(options["url"]), readToken(String(options["tokenFile"])));
    const outcome = await link(context, config);
    if (!outcome.ok)
      throw new Failure(EXIT.wrong, `Not enrolled, nothing was changed: ${outcome.reason}.`, outcome.next);
    store(config);
    const { asset } = outcome;
    if (printer.json) printer.document({ enrolled: asset, config: configPath });
    else {
      printer.raw(
        `Enrolled: the control plane knows this device as ${asset.serial_number} (${asset.name}), ${asset.uuid}.`,
      );
      printer.raw(`Written: ${configPath} and ${String(config.device_token_file)}.`);
      printer.line("Restart the agent so that it uses them: systemctl restart edge-agent");
    }
    return EXIT.ok;
  });
}

/** The configuration as it will be, not yet written. Throws `Failure` or `ConfigError` where it could not be used. */
function newConfig(path: string, url: string, token: string): Config {
  const { device_token: _inline, ...kept } = readExisting(path);
  const tokenFile =
    typeof kept["device_token_file"] === "string" ? kept["device_token_file"] : join(dirname(resolve(path)), "token");
  const text = JSON.stringify({ ...kept, control_plane_url: url, device_token_file: tokenFile });
  const file = parseConfig(text, path);
  const extraCa = file.extra_ca_file === undefined ? undefined : readFileSync(file.extra_ca_file, "utf8");
  return { ...file, token, extraCa, path };
}

function readExisting(path: string): Record<string, unknown> {
  if (!existsSync(path)) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below, without the text, which may hold a token.
  }
  throw new Failure(EXIT.usage, `${path} is there, and is no JSON object; correct or remove it first.`);
}

function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
  if (/^ed_[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure(EXIT.usage, `${path} holds no device token: one begins with ed_ and has no blanks in it.`);
}

type Attempt = TryOutcome & { readonly next?: string };

async function link(context: Context, config: Config): Promise<Attempt> {
  const { clock } = context.io;
  const blocked = firstOnTheWay(await checkTheWay(context, config));
  if (blocked) return blocked;
  const logger = await createLogger({ name: "edge-agent", level: "fatal", fd: 2, pretty: false });
  return await tryLink({ config: toLinkConfig(config), clock, logger, agentVersion: VERSION }, context.io.interrupted);
}

const notOnTheWay: Probe = async () => ({ verdict: "good", text: "" });

async function checkTheWay({ io }: Context, config: Config): Promise<Verdicts> {
  const { clock, host } = io;
  const patient = {
    config,
    clock,
    host,
    engine: await io.createEngine(config),
    openStore: io.openReader,
    agentVersion: VERSION,
  };
  const probes = Object.fromEntries(
    Object.entries(PROBES).map(([id, probe]) => [id, ON_THE_WAY.has(id) ? probe : notOnTheWay]),
  ) as unknown as typeof PROBES;
  return await runChecks(probes, patient, clock);
}

function firstOnTheWay(verdicts: Verdicts): Attempt | undefined {
  const id = culprits(verdicts)[0];
  const verdict = id === undefined ? undefined : verdicts.get(id);
  if (id === undefined || !verdict) return undefined;
  const reason = `${checkOf(id).title}: ${verdict.text.replace(/\.$/, "")}`;
  return { ok: false, reason, ...(verdict.next !== undefined && { next: verdict.next }) };
}

function store(config: Config): void {
  const { path, token, device_token_file: tokenFile = "" } = config;
  try {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    const owner = serviceUser(config.state_dir);
    writeAtomically(tokenFile, `${token}\n`, { mode: TOKEN_MODE, ...(owner && { owner }) });
    const { device_token: _inline, ...kept } = readExisting(path);
    const content = { ...kept, control_plane_url: config.control_plane_url, device_token_file: tokenFile };
    const before = statSync(path, { throwIfNoEntry: false });
    writeAtomically(path, `${JSON.stringify(content, undefined, 2)}\n`, {
      mode: before ? before.mode & 0o777 : CONFIG_MODE,
      ...(before && process.getuid?.() === 0 && { owner: { uid: before.uid, gid: before.gid } }),
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new Failure(
      EXIT.usage,
      `The token is good, but it could not be stored (${code}).`,
      "Run it as root: sudo edge-agent enroll ...",
    );
  }
}

/** Whom the service runs as: the owner of its state, where root may give files away and there is state. */
function serviceUser(stateDir: string): { readonly uid: number; readonly gid: number } | undefined {
  const state = statSync(stateDir, { throwIfNoEntry: false });
  return state && process.getuid?.() === 0 ? { uid: state.uid, gid: state.gid } : undefined;
}
