import { type Command, Option } from "commander";
import { SIM_TYPES, type SimType } from "../../protocol/assets/sim.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import type { OperatorAccess } from "../sim-operator/operator-access.ts";
import { sealAccess } from "../sim-operator/sealed-access.ts";
import { isSecretText, readOperatorAccess, simOperatorSettingsSchema } from "../config/sim-operators-config.ts";
import type { Store } from "../store/store.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";
import { openKeys } from "./open-keys.ts";
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { errorText } from "../../lib/error-text.ts";
import { readPrivateText } from "../../lib/private-text.ts";

interface AccountOptions extends AdministrationOptions {
  readonly account: string;
  readonly type: SimType;
}

interface SetOptions extends AccountOptions {
  readonly secretFile: string;
  readonly clientId?: string;
  readonly accountSid?: string;
  readonly url?: string;
  readonly tokenUrl?: string;
}

/** `sim-operator set` and `sim-operator remove`. */
export function addSimCredentialCommands(operators: Command, context: CliContext): void {
  withAdministrationOptions(operators.command("set"))
    .description("set an account's own credentials at the operator of a type of SIM, also while the server runs")
    .requiredOption("--account <id>", "account that they are for")
    .addOption(typeOption())
    .requiredOption(
      "--secret-file <file>",
      "file with the client secret, the auth token or the application token, which only its owner can access; - for standard input",
    )
    .option("--client-id <id>", "of a Super SIM's OAuth client")
    .option("--account-sid <sid>", "of an older Super SIM account, in place of --client-id")
    .option("--url <address>", "address of the API, if it is not the usual one")
    .option(
      "--token-url <address>",
      "where tokens of a Super SIM's OAuth client are asked for, if not at the usual one",
    )
    .action((options: SetOptions) =>
      runAdministration(
        context,
        options,
        (store) => setCredentials(context, store, options),
        ({ account_id, sim_type }) =>
          `${account_id} uses the operator of ${sim_type} with its own credentials: try them with ` +
          `edge-control sim-operator check --account ${account_id}`,
      ),
    );
  withAdministrationOptions(operators.command("remove"))
    .description("remove an account's own credentials: the service's count for it again, if there are any")
    .requiredOption("--account <id>", "account that they are for")
    .addOption(typeOption())
    .action((options: AccountOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const { account, type } = options;
          await requireAccount(store, account);
          const entry = entryOf(context, options, "sim_operator.removed");
          const atMs = context.clock.now();
          return { removed: await store.simCredentials.removeCredentials(account, type, atMs, entry) };
        },
        ({ removed }) => (removed ? "removed" : "there are none"),
      ),
    );
}

function typeOption(): Option {
  return new Option("--type <type>", "type of SIM").choices(SIM_TYPES).makeOptionMandatory();
}

async function setCredentials(context: CliContext, store: Store, options: SetOptions) {
  const { account, type } = options;
  await requireAccount(store, account);
  const access = readAccess(options);
  const seal = await (await openKeys(store, options)).sealing();
  const credentials = {
    accountId: account,
    type,
    changedAtMs: context.clock.now(),
    ...sealAccess(seal, account, type, access),
  };
  if (await store.simCredentials.setCredentials(credentials, entryOf(context, options, "sim_operator.set")))
    return { account_id: account, sim_type: type };
  throw new ServiceCommandError(`the account ${account} was removed meanwhile`);
}

/** Reads the options as the configuration is read. */
function readAccess({ type, secretFile, clientId, accountSid, url, tokenUrl }: SetOptions): OperatorAccess {
  if (type === "prosim" && (clientId ?? accountSid ?? tokenUrl) !== undefined)
    throw new ServiceCommandError("a PRO SIM's operator has an application token alone: give it with --secret-file");
  const secretKey =
    type === "prosim" ? "application_token_file" : accountSid === undefined ? "client_secret_file" : "auth_token_file";
  const fields = { client_id: clientId, account_sid: accountSid, token_url: tokenUrl, url, [secretKey]: secretFile };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const parsed = simOperatorSettingsSchema.safeParse({ [type]: given });
  if (parsed.success) return readOperatorAccess(parsed.data, readSecretInput);
  if (type === "supersim" && (clientId === undefined) === (accountSid === undefined))
    throw new ServiceCommandError("give --client-id, or --account-sid for an older account");
  throw new ServiceCommandError(
    parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "),
  );
}

function entryOf(
  { clock }: CliContext,
  { account, type }: AccountOptions,
  action: "sim_operator.set" | "sim_operator.removed",
) {
  const subject = { kind: "sim_operator", id: type };
  return auditEntry(commandOrigin(account), clock, { action, subject, details: { sim_type: type } });
}

const STDIN = 0;

/**
 * Reads a secret that stands alone in a file that only its owner can access, or in standard input for `-`. Throws `CommandError`,
 * without anything of the secret.
 */
function readSecretInput(file: string): string {
  const text = readText(file);
  if (isSecretText(text)) return text.trim();
  throw new ServiceCommandError(`${file === "-" ? "standard input" : file} does not contain one line with the secret`);
}

function readText(file: string): string {
  if (file === "-" && isatty(STDIN))
    throw new ServiceCommandError("a terminal would show the secret: pass it through a pipe, or from a file");
  try {
    return file === "-" ? readFileSync(STDIN, "utf8") : readPrivateText(file);
  } catch (error) {
    throw new ServiceCommandError(`cannot read the secret: ${errorText(error)}`);
  }
}
