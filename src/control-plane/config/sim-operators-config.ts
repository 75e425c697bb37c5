import { readFileSync } from "node:fs";
import { z } from "zod";
import { SIM_TYPES, type SimType } from "../../protocol/assets/sim.ts";
import type { OperatorAccess } from "../sim-operator/operator-access.ts";
import type { SuperSimCredentials } from "../sim-operator/super-sim/super-sim-authorization.ts";

const text = z.string().min(1).max(1_024);
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|localhost)$/;

const address = (what: string) =>
  text.refine(isAddress, "must be an address such as https://api.example.com; http:// only on this machine").meta({
    description: what,
  });

const superSim = z
  .strictObject({
    url: address("Address of the API.").default("https://supersim.api.korewireless.com"),
    client_id: text.optional().meta({ description: "Id of an OAuth client, with `client_secret_file`." }),
    client_secret_file: text.optional().meta({
      description: "File with the secret of the client.",
      examples: ["/etc/edge-control/kore-secret"],
    }),
    token_url: address("Where tokens are asked for.").default(
      "https://api.korewireless.com/api-services/v1/auth/token",
    ),
    account_sid: text.optional().meta({ description: "SID of an older account, with `auth_token_file`." }),
    auth_token_file: text.optional().meta({ description: "File with the token of the older account." }),
  })
  .superRefine((keys, context) => {
    const isClient = keys.client_id !== undefined && keys.client_secret_file !== undefined;
    const isAccount = keys.account_sid !== undefined && keys.auth_token_file !== undefined;
    const given = [keys.client_id, keys.client_secret_file, keys.account_sid, keys.auth_token_file];
    if (isClient !== isAccount && given.filter((key) => key !== undefined).length === 2) return;
    const message = "set client_id and client_secret_file, or account_sid and auth_token_file";
    context.addIssue({ code: "custom", message });
  });

const emnify = z.strictObject({
  url: address("Address of the API.").default("https://cdn.emnify.net"),
  application_token_file: text.meta({
    description: "File with an application token.",
    examples: ["/etc/edge-control/emnify-token"],
  }),
});

/** The keys of the configuration that name the companies that run the SIMs. */
export const simOperatorsShape = {
  sim_operators: z
    .strictObject({
      supersim: superSim
        .optional()
        .meta({ description: "KORE Wireless, for Super SIMs; also older accounts at Twilio." }),
      prosim: emnify.optional().meta({ description: "emnify, for PRO SIMs." }),
    })
    .default({})
    .meta({
      description:
        "The companies that run the SIMs, with the service's credentials there. Without one for a type of SIM, its states are " +
        "stored only, and its usage is imported.",
    }),
  sim_usage_refresh_s: z
    .int()
    .min(60)
    .max(24 * 3600)
    .default(15 * 60)
    .meta({ description: "How old usage that is not final may be before the operator is asked again, in seconds." }),
  sim_sync_interval_s: z
    .int()
    .min(600)
    .max(30 * 24 * 3600)
    .default(24 * 3600)
    .meta({
      description:
        "How often the state of each SIM is read at its operator, in seconds, to notice what was changed there.",
    }),
};

/** The operators and credentials as the configuration and the command line name them. */
export const simOperatorSettingsSchema = simOperatorsShape.sim_operators;

export type SimOperatorSettings = z.output<typeof simOperatorsShape.sim_operators>;

/** Returns what is wrong with the files of secrets. They are read again for the operators; this is to say it early. */
export function findSimOperatorFileErrors({
  sim_operators: settings,
}: {
  sim_operators: SimOperatorSettings;
}): string[] {
  return SIM_TYPES.flatMap((type) => {
    const file = secretFileOf(settings, type);
    if (file === undefined) return [];
    const problem = findProblem(file);
    return problem === undefined ? [] : [`sim_operators.${type}: ${file} ${problem}`];
  });
}

/**
 * Reads the secrets and returns how the operators are used. Throws where a file cannot be read any more.
 *
 * @param read returns the secret of a file
 */
export function readOperatorAccess(
  { supersim, prosim }: SimOperatorSettings,
  read: (file: string) => string = readSecretFile,
): OperatorAccess {
  return {
    ...(supersim && { supersim: { url: supersim.url, credentials: readCredentials(supersim, read) } }),
    ...(prosim && { prosim: { url: prosim.url, applicationToken: read(prosim.application_token_file) } }),
  };
}

function readCredentials(
  keys: NonNullable<SimOperatorSettings["supersim"]>,
  read: (file: string) => string,
): SuperSimCredentials {
  const { client_id: clientId, client_secret_file: clientFile, account_sid: accountSid, auth_token_file: file } = keys;
  if (accountSid !== undefined && file !== undefined) return { accountSid, authToken: read(file) };
  return { clientId: clientId ?? "", clientSecret: read(clientFile ?? ""), tokenUrl: keys.token_url };
}

function secretFileOf({ supersim, prosim }: SimOperatorSettings, type: SimType): string | undefined {
  return type === "prosim"
    ? prosim?.application_token_file
    : (supersim?.client_secret_file ?? supersim?.auth_token_file);
}

/** Whether a text is a secret and nothing else. */
export function isSecretText(text: string): boolean {
  return /^[^\r\n]+\s*$/.test(text) && text.trim() !== "";
}

/** Reads a secret that stands alone in a file. */
function readSecretFile(file: string): string {
  return readFileSync(file, "utf8").trim();
}

function findProblem(file: string): string | undefined {
  try {
    return isSecretText(readFileSync(file, "utf8")) ? undefined : "does not contain one line with the secret";
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code}`;
  }
}

function isAddress(value: string): boolean {
  const url = URL.parse(value);
  if (!url || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
}
