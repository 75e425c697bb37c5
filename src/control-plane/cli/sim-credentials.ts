import { type Command, Option } from "commander";
import { systemClock } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/sim.ts";
import { auditEntry } from "../audit/audit-entry.ts";
import { KeyFileError } from "../sealing/key-file.ts";
import { openSealer } from "../sealing/open-sealer.ts";
import { credentialsPurpose } from "../sealing/sealer.ts";
import { SIM_TYPES } from "../sim-operator/sim-types.ts";
import { findSimOperatorFileErrors, readOperatorAccess, simOperatorSettingsSchema } from "../sim-operators-config.ts";
import type { Store } from "../store/store.ts";
import {
  type AdministrationOptions,
  formatTable,
  formatTimeOrNever,
  keyFileOfOptions,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, CommandError } from "./context.ts";

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

/** `sim-operator set`, `sim-operator show` and `sim-operator remove`. */
export function addSimCredentialCommands(operators: Command, context: CliContext): void {
  const typeOption = () => new Option("--type <type>", "type of SIM").choices(SIM_TYPES).makeOptionMandatory();
  withAdministrationOptions(operators.command("set"))
    .description("set an account's own credentials at the operator of a type of SIM, also while the server runs")
    .requiredOption("--account <id>", "account that they are for")
    .addOption(typeOption())
    .requiredOption("--secret-file <file>", "file with the client secret, the auth token or the application token")
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
        ({ account_id, sim_type }) => `${account_id} uses the operator of ${sim_type} with its own credentials`,
      ),
    );
  withAdministrationOptions(operators.command("show"))
    .description("list the accounts that have credentials of their own; secrets are not shown")
    .action((options: AdministrationOptions) =>
      runAdministration(context, options, listCredentials, (found) =>
        formatTable([
          ["ACCOUNT", "SIM TYPE", "CHANGED", "KEY"],
          ...found.map(({ account_id, sim_type, changed_at, key_id }) => [
            account_id,
            sim_type,
            formatTimeOrNever(changed_at),
            key_id,
          ]),
        ]),
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
          return { removed: await store.simCredentials.removeCredentials(account, type, entry) };
        },
        ({ removed }) => (removed ? "removed" : "there are none"),
      ),
    );
}

async function setCredentials(context: CliContext, store: Store, options: SetOptions) {
  const { account, type } = options;
  await requireAccount(store, account);
  const plaintext = Buffer.from(JSON.stringify(readAccess(options)));
  const seal = await openKeys(store, options);
  const sealed = seal(plaintext, credentialsPurpose(account, type));
  const credentials = { accountId: account, type, changedAtMs: context.clock.now(), ...sealed };
  await store.simCredentials.setCredentials(credentials, entryOf(context, options, "sim_operator.set"));
  return { account_id: account, sim_type: type };
}

/** Reads the options as the configuration is read. */
function readAccess({ type, secretFile, clientId, accountSid, url, tokenUrl }: SetOptions) {
  const fields =
    type === "prosim"
      ? { application_token_file: secretFile, client_id: clientId, account_sid: accountSid, token_url: tokenUrl }
      : {
          client_id: clientId,
          account_sid: accountSid,
          token_url: tokenUrl,
          [accountSid === undefined ? "client_secret_file" : "auth_token_file"]: secretFile,
        };
  const given = Object.fromEntries(Object.entries({ ...fields, url }).filter(([, value]) => value !== undefined));
  const parsed = simOperatorSettingsSchema.safeParse({ [type]: given });
  if (!parsed.success) throw new CommandError(parsed.error.issues.map(({ message }) => message).join("; "));
  const [problem] = findSimOperatorFileErrors({ sim_operators: parsed.data });
  if (problem !== undefined) throw new CommandError(problem);
  return readOperatorAccess(parsed.data)[type];
}

async function openKeys(store: Store, options: AdministrationOptions) {
  try {
    return await (await openSealer(keyFileOfOptions(options), store, systemClock)).sealing();
  } catch (error) {
    if (error instanceof KeyFileError) throw new CommandError(error.message);
    throw error;
  }
}

async function listCredentials({ simCredentials }: Store) {
  return (await simCredentials.listCredentials()).map(({ accountId, type, changedAtMs, keyId }) => ({
    account_id: accountId,
    sim_type: type,
    changed_at: Math.floor(changedAtMs / 1000),
    key_id: keyId,
  }));
}

function entryOf(
  { clock }: CliContext,
  { account, type }: AccountOptions,
  action: "sim_operator.set" | "sim_operator.removed",
) {
  const subject = { kind: "sim_operator", id: type };
  return auditEntry(commandOrigin(account), clock, { action, subject, details: { sim_type: type } });
}
