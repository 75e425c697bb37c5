import { readFileSync } from "node:fs";
import { z } from "zod";
import type { PostgresOptions } from "../store/postgres/options.ts";
import { join } from "node:path";

/** Where everything is stored. */
export type Database =
  | { readonly kind: "sqlite"; readonly dataDir: string }
  | { readonly kind: "postgres"; readonly options: PostgresOptions };

const DEFAULT_PORT = 5432;
const DEFAULT_POOL_MAX = 10;
const SCHEMES: ReadonlySet<string> = new Set(["postgres:", "postgresql:"]);
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[?::1\]?|localhost)$/;

const text = z.string().min(1);
const optionalFile = (description: string, example: string) =>
  text.optional().meta({ description, examples: [example] });

/** The keys of the configuration that name a PostgreSQL database. */
export const databaseShape = {
  database_url: text.optional().meta({
    description:
      "PostgreSQL database that several instances can share, in place of `data_dir`. The password is not part of it: see " +
      "`database_password_file`.",
    examples: ["postgres://edge_control@db.example.com:5432/edge_control"],
  }),
  database_host: text.optional().meta({
    description:
      "Host of the database, or the directory of its socket. These four keys may stand in for `database_url`.",
    examples: ["db.example.com"],
  }),
  database_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .meta({ description: `Its port, ${DEFAULT_PORT} unless set.` }),
  database_name: text.optional().meta({ description: "Name of the database." }),
  database_user: text.optional().meta({ description: "User of the database." }),
  database_password_file: optionalFile(
    "File with the password, read again for each connection; keep it readable by the service only.",
    "/etc/edge-control/database-password",
  ),
  database_tls: z
    .enum(["verify", "off"])
    .optional()
    .meta({
      description:
        "`verify`: the connection is encrypted and the server's certificate is checked with its name, which is the default " +
        "unless the database is on this machine. `off`: everything is sent as it is, the password included.",
    }),
  database_ca_file: optionalFile(
    "PEM file with the authorities to trust in place of the system's.",
    "/etc/edge-control/database-ca.pem",
  ),
  database_cert_file: text.optional().meta({
    description:
      "PEM file with a certificate of the service, for a database that asks for one. With `database_key_file`.",
  }),
  database_key_file: text.optional().meta({ description: "PEM file with its private key." }),
  database_pool_max: z
    .int()
    .min(2)
    .max(200)
    .default(DEFAULT_POOL_MAX)
    .meta({ description: "Maximum number of connections of one instance to the database." }),
};

type DatabaseKeys = z.output<z.ZodObject<typeof databaseShape>>;
type Issue = (key: keyof typeof databaseShape, message: string) => void;

const PARTS = ["database_host", "database_port", "database_name", "database_user"] as const;
const DETAILS = [
  "database_password_file",
  "database_tls",
  "database_ca_file",
  "database_cert_file",
  "database_key_file",
] as const;

/** Reports every combination of the keys that has no meaning. */
export function checkDatabaseKeys(keys: DatabaseKeys, issue: Issue): void {
  const { database_url: url, database_host: host, database_tls: tls } = keys;
  const parts = PARTS.filter((name) => keys[name] !== undefined);
  if (url !== undefined) {
    if (parts[0]) issue(parts[0], "set either database_url or its parts");
    const error = findUrlError(url);
    if (error !== undefined) issue("database_url", error);
  } else if (host === undefined) {
    for (const name of [...parts, ...DETAILS.filter((each) => keys[each] !== undefined)]) {
      issue(name, "set database_url or database_host beside it");
    }
  } else {
    for (const name of ["database_name", "database_user"] as const) {
      if (keys[name] === undefined) issue(name, "set it beside database_host");
    }
  }
  const { database_ca_file: ca, database_cert_file: cert, database_key_file: key } = keys;
  if (cert !== undefined && key === undefined) issue("database_key_file", "set it beside database_cert_file");
  if (key !== undefined && cert === undefined) issue("database_cert_file", "set it beside database_key_file");
  if (tls !== "off") return;
  if (ca !== undefined) issue("database_ca_file", "has no effect with database_tls off");
  if (cert !== undefined) issue("database_cert_file", "has no effect with database_tls off");
}

/** Returns why a URL does not name a PostgreSQL database; `undefined` if it does. Never quotes it: it may hold a password. */
function findUrlError(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !SCHEMES.has(url.protocol) || url.hostname === "" || url.username === "" || url.pathname.length < 2) {
    return "must be postgres://USER@HOST:PORT/DATABASE";
  }
  if (url.password !== "") return "must not contain a password; set database_password_file";
  if (url.search !== "" || url.hash !== "") return "must end with the name of the database; TLS has keys of its own";
  if (decode(url.hostname + url.username + url.pathname) === undefined) return "contains a % that encodes nothing";
  return undefined;
}

/** The database that a valid configuration names. */
export function databaseOf(config: DatabaseKeys & { readonly data_dir: string }): Database {
  const target = targetOf(config);
  if (!target) return { kind: "sqlite", dataDir: config.data_dir };
  const isNear = target.host.startsWith("/") || LOOPBACK.test(target.host);
  const {
    database_tls: tls,
    database_ca_file: caFile,
    database_cert_file: certFile,
    database_key_file: keyFile,
  } = config;
  // Files for TLS say as clearly that it is wanted.
  const usesTls =
    tls === "verify" || (tls === undefined && (!isNear || caFile !== undefined || certFile !== undefined));
  return {
    kind: "postgres",
    options: {
      ...target,
      passwordFile: config.database_password_file,
      tls: usesTls ? { caFile, certFile, keyFile } : undefined,
      poolMax: config.database_pool_max,
    },
  };
}

function targetOf(keys: DatabaseKeys): Pick<PostgresOptions, "host" | "port" | "database" | "user"> | undefined {
  const { database_url: value, database_host: host, database_name: database, database_user: user } = keys;
  if (value !== undefined) {
    const url = new URL(value);
    return {
      // Without the brackets of an IPv6 address.
      host: (decode(url.hostname) ?? "").replace(/^\[(.*)\]$/, "$1"),
      port: Number(url.port || DEFAULT_PORT),
      database: decode(url.pathname.slice(1)) ?? "",
      user: decode(url.username) ?? "",
    };
  }
  if (host === undefined || database === undefined || user === undefined) return undefined;
  return { host, port: keys.database_port ?? DEFAULT_PORT, database, user };
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** How a person tells the database from others, without secrets. */
export function describeDatabase(database: Database): string {
  if (database.kind === "sqlite") return `the data directory ${database.dataDir}`;
  const { host, port, database: name } = database.options;
  return `the database ${name} at ${host.startsWith("/") ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`}`;
}

const CONTENTS: readonly (readonly [key: keyof typeof databaseShape, mark: RegExp, what: string])[] = [
  ["database_password_file", /^[^\r\n]+\s*$/, "one line with the password"],
  ["database_ca_file", /-----BEGIN CERTIFICATE-----/, "a PEM certificate"],
  ["database_cert_file", /-----BEGIN CERTIFICATE-----/, "a PEM certificate"],
  ["database_key_file", /-----BEGIN [A-Z ]*PRIVATE KEY-----/, "a PEM private key"],
];

/** Returns what is wrong with the files that the keys name. They are read again for each connection; this is to say it early. */
export function findFileErrors(keys: DatabaseKeys): string[] {
  return CONTENTS.flatMap(([key, mark, what]) => {
    const file = keys[key];
    if (typeof file !== "string") return [];
    try {
      return mark.test(readFileSync(file, "utf8")) ? [] : [`${key}: ${file} does not contain ${what}`];
    } catch (error) {
      return [`${key}: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`];
    }
  });
}

/** The file of sealing keys: where the configuration says, or in the data directory. `undefined`: there is none. */
export function keyFileOf(
  config: { readonly secrets_key_file?: string | undefined },
  database: Database,
): string | undefined {
  return config.secrets_key_file ?? (database.kind === "sqlite" ? join(database.dataDir, "secrets.key") : undefined);
}
