import { basename } from "node:path";
import type { Command } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { readLogFiles } from "../../lib/log/read-log-files.ts";
import { SecretMasker, maskTokens } from "../../lib/redact.ts";
import { VERSION } from "../../lib/version.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { loadConfig } from "../config/load.ts";
import { logFilePath } from "../config/log-file.ts";
import { maskedConfig } from "../config/masked.ts";
import { archive, type BundleFile } from "../support/archive.ts";
import { withoutQuotes, withoutUnmaskableOutput } from "./bundled-output.ts";
import { knownSecrets } from "../support/known-secrets.ts";
import { systemFacts } from "../support/system-facts.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { asDocument, runDoctor } from "./doctor.ts";
import { EXIT, CommandError } from "./exit-code.ts";
import { askServiceManager, readJournal, serviceDocument } from "./service-manager.ts";

const MODE = 0o600;

const HELP = `
Collects in one .tar.gz what remote support needs: versions, status, doctor, configuration, events, logs of the agent
and of the apps, and facts about the engine and the system. Tokens, passwords and the values of the apps' environments
are masked, also in the apps' output. Also works while the agent is not running. Run it as root, to include everything.

Example:
  sudo edge-agent support-bundle /tmp/gateway-17.tar.gz`;

export function addSupportBundle(program: Command, register: Register): void {
  const command = program.command("support-bundle <file>").description("collect what support needs, secrets masked");
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, file = "") => {
    const { printer, io } = context;
    const { secrets, areValuesKnown } = await readSecrets(context);
    const masked = mask(await collect(context, areValuesKnown), secrets);
    const folder = basename(file).replace(/\.(tar\.gz|tgz)$/, "") || "support";
    const content = await archive(folder, masked, io.clock.now());
    try {
      writeAtomically(file, content, { mode: MODE });
    } catch (error) {
      throw new CommandError(
        EXIT.usage,
        `${file} cannot be written: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`,
      );
    }
    const result = { file, bytes: content.length, files: masked.map(({ name }) => name) };
    if (printer.json) printer.document(result);
    else printer.raw(`${file} was written: ${masked.length} files, secrets masked.`);
    return EXIT.ok;
  });
}

async function collect(context: Context, areValuesKnown: boolean): Promise<BundleFile[]> {
  const { client, io } = context;
  const signal = io.interrupted;
  const gathered = await Promise.all([
    jsonFile("doctor.json", async () => asDocument(await runDoctor(context))),
    jsonFile("config.json", () => readableConfig(context)),
    jsonFile("status.json", () => client.request("GET", "/status", "status", { signal })),
    jsonFile("service.json", async () => {
      const unit = await askServiceManager();
      return unit ? serviceDocument(unit) : { summary: "no service manager knows the agent" };
    }),
    jsonFile("engine.json", () => engineFacts(context)),
    textFile("agent.log", async function* () {
      for await (const { line } of client.stream("GET", "/log?lines=10000", "logLine", { signal })) yield line;
    }),
    textFile("agent-file.log", () => logFile(context)),
    readJournal(2_000).then((content) => ({ name: "journal.log", content })),
    textFile("events.jsonl", async function* () {
      const events = client.stream("GET", "/events?entries=1000", "activity", { signal });
      for await (const event of events) yield JSON.stringify(withoutQuotes(event));
    }),
  ]);
  return [...gathered, ...(await appFiles(context, areValuesKnown)), ...(await systemFacts(VERSION, io.clock.now()))];
}

async function* logFile({ readConfig }: Context): AsyncGenerator<string> {
  const config = await readConfig();
  if (config instanceof Error) throw config;
  const { file } = config.log;
  const path = logFilePath(file);
  const found = readLogFiles(path, 10_000, file.max_files);
  if (!found) throw new Error(`there is no ${path}, or it cannot be read`);
  yield* found;
}

async function appFiles({ client, io }: Context, areValuesKnown: boolean): Promise<BundleFile[]> {
  const signal = io.interrupted;
  // The bundle says elsewhere that the agent does not answer.
  const status = await client.request("GET", "/status", "status", { signal }).catch(() => undefined);
  const names = status?.device.apps.map(({ name }) => name) ?? [];
  const facts = names.map((name) =>
    jsonFile(`apps/${name}.json`, async () => {
      const app = await client.request("GET", `/apps/${encodeURIComponent(name)}`, "app", { signal });
      return withoutUnmaskableOutput(app, areValuesKnown);
    }),
  );
  return await Promise.all(facts);
}

async function engineFacts({ io, readConfig }: Context) {
  const config = await readConfig();
  const engine = await io.device.createEngine(config instanceof Error ? { engine: {} } : config);
  const signal = AbortSignal.any([io.interrupted, AbortSignal.timeout(10_000)]);
  return { info: await engine.info(signal), containers: await engine.listContainers(signal) };
}

async function readableConfig({ readConfig }: Context) {
  const config = await readConfig();
  if (config instanceof Error) throw config;
  return maskedConfig(config);
}

/** Creates a file of the archive. If `get` fails, the file contains the reason. */
async function jsonFile(name: string, get: () => Promise<unknown>): Promise<BundleFile> {
  try {
    return { name, content: JSON.stringify(await get(), undefined, 2) };
  } catch (error) {
    return { name, content: JSON.stringify({ missing: errorText(error) }) };
  }
}

async function textFile(name: string, get: () => AsyncIterable<string>): Promise<BundleFile> {
  const content: string[] = [];
  try {
    for await (const line of get()) content.push(line);
  } catch (error) {
    content.push(`missing: ${errorText(error)}`);
  }
  return { name, content: content.join("\n") };
}

function mask(files: readonly BundleFile[], secrets: readonly string[]): BundleFile[] {
  const masker = new SecretMasker(secrets);
  const clean = (text: string): string => maskTokens(masker.mask(text));
  return files.map(({ name, content }) => ({ name: clean(name), content: clean(content) }));
}

interface KnownSecrets {
  readonly secrets: readonly string[];
  /** Whether they include the values of the apps' environments. */
  readonly areValuesKnown: boolean;
}

async function readSecrets({ io, readConfig, configPath }: Context): Promise<KnownSecrets> {
  const config = await readConfig();
  const { env } = io;
  let full = config;
  try {
    full = loadConfig(configPath);
  } catch {
    // Not readable by this user, so the collected files cannot contain the token either.
  }
  const withoutValues = { secrets: knownSecrets({ config: full, store: undefined, env }), areValuesKnown: false };
  if (config instanceof Error) return withoutValues;
  try {
    using store = await io.device.openReader(config.state_dir);
    return { secrets: knownSecrets({ config: full, store, env }), areValuesKnown: true };
  } catch {
    // Not readable by this user.
    return withoutValues;
  }
}
