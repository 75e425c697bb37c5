import { isIP } from "node:net";
import { z } from "zod";
import { LOG_LEVELS } from "../../lib/log/levels.ts";
import { COMMAND_ACK_TIMEOUT_MS, DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { alertsShape } from "./alerts-config.ts";
import { checkDatabaseKeys, databaseShape } from "./database-config.ts";
import { isHost } from "../images/private-hosts.ts";
import { checkOidcKeys, oidcShape } from "./oidc-config.ts";
import { otlpShape } from "./otlp-config.ts";
import { simOperatorsShape } from "./sim-operators-config.ts";

const seconds = z.number().positive();
const WEEK_S = 7 * 24 * 3600;

const listenAddress = z.string().transform((text, context) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    context.addIssue({ code: "custom", message: "must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080" });
    return z.NEVER;
  }
  return { host: (match[1] ?? match[2]) as string, port };
});

const publicUrl = z.string().refine(isOrigin, {
  message: "must be http:// or https:// with a host and no path, such as https://control.example.com",
});

const corsOrigin = z.string().refine((text) => isOrigin(text) && new URL(text).origin === text, {
  message: "must be http:// or https:// with a host and no path or last slash, such as https://fleet.example.com",
});

/** Comma-separated addresses of proxies. */
const addressRanges = z.string().refine((text) => text.split(",").every((range) => isAddressRange(range.trim())), {
  message: "must be addresses or ranges separated by commas, such as 127.0.0.1,10.0.0.0/8",
});

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return false;
  return url.pathname === "/" && url.search === "" && url.hash === "" && !text.includes("#") && !text.includes("?");
}

function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** Environment variable that stands in for the option `--data-dir`, in every command. */
export const DATA_DIR_VARIABLE = "EDGE_CONTROL_DATA_DIR";
export const DEFAULT_DATA_DIR = "data";

const imageResolution = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta({ description: "Asks registries; without it images of fleets need their digests." }),
  allow_private: z
    .array(z.string().refine(isHost, { message: "must be HOST or HOST:PORT, such as registry.lan:5000" }))
    .max(100)
    .default([])
    .meta({
      description:
        "Registries and their token servers that may have private addresses and be without TLS: HOST for all ports, or " +
        "HOST:PORT. Anyone who may make revisions can have the service send GET requests there.",
      examples: [["registry.lan:5000"]],
    }),
});

const keys = z.strictObject({
  listen: listenAddress
    .prefault("127.0.0.1:8080")
    .meta({ description: "Address and port to listen on; port 0 takes any free one." }),
  public_url: publicUrl.optional().meta({
    description:
      "Address under which people open the service, such as https://control.example.com; links and the cookies of sessions need it where a proxy stands in front.",
  }),
  trusted_proxies: addressRanges.optional().meta({
    description:
      "Addresses or ranges of proxies in front of the service, separated by commas. Their X-Forwarded headers say where requests come from.",
  }),
  cors_origins: z
    .record(z.string().min(1).max(64), z.array(corsOrigin).max(100))
    .default({})
    .meta({
      description:
        "By account: origins whose pages may call the API from a browser, with an API key of the account; none by default. Cookies " +
        "of sessions are never accepted from them.",
      examples: [{ acc_c545cfa7618d81bd42ddce44: ["https://fleet.example.com"] }],
    }),
  metrics_listen: listenAddress.optional().meta({
    description:
      "Address and port of `GET /metrics` for Prometheus, such as 127.0.0.1:9464; without it there are no metrics.",
  }),
  secrets_key_file: z
    .string()
    .min(1)
    .optional()
    .meta({
      description:
        "File with the keys that variables of assets and revisions of fleets are encrypted with in the database. By default " +
        "`secrets.key` in the data directory, made at the first start. With PostgreSQL every instance needs the same file; " +
        "without one, fleets and variables cannot be used. Only the service's user may access it. It is not part of backups: " +
        "keep a copy in another place, since without it the service does not start.",
      examples: ["/etc/edge-control/secrets.key"],
    }),
  data_dir: z
    .string()
    .min(1)
    .default(DEFAULT_DATA_DIR)
    .meta({
      description: `Directory of the database, unless that is PostgreSQL. ${DATA_DIR_VARIABLE} in the environment sets it too.`,
    }),
  ...databaseShape,
  ...oidcShape,
  ...simOperatorsShape,
  image_resolution: imageResolution.prefault({}).meta({
    description:
      "How the service finds out the digests of tags when a revision of a fleet is made. It asks registries at public addresses, " +
      "over https, and without a proxy.",
  }),
  ...alertsShape,
  ...otlpShape,
  log_level: z.enum(LOG_LEVELS).default("info").meta({ description: "Minimum level of log lines." }),
  nats_url: z.string().min(1).optional().meta({
    description:
      "Address of a NATS server, 2.9 or newer, through which instances on one database wake and ask each other: nats://HOST:PORT or tls://HOST:PORT; several of one cluster separated by commas.",
  }),
  nats_prefix: z
    .string()
    .min(1)
    .default("edge-control")
    .meta({ description: "First part of all NATS subjects; the same for all instances on one database." }),
  nats_user: z.string().min(1).optional().meta({ description: "User at the NATS server, with nats_password_file." }),
  nats_password_file: z.string().min(1).optional().meta({ description: "File that holds the password of nats_user." }),
  nats_token_file: z.string().min(1).optional().meta({ description: "File that holds a token for the NATS server." }),
  nats_creds_file: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "File of nsc with a JWT and the seed of its key, for the NATS server." }),
  nats_nkey_file: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "File that holds the seed of a key for the NATS server." }),
  nats_ca_file: z.string().min(1).optional().meta({
    description: "PEM file with the authorities to trust for the NATS server instead of those of the system.",
  }),
  nats_cert_file: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "PEM file with the certificate of this client for the NATS server, with nats_key_file." }),
  nats_key_file: z.string().min(1).optional().meta({ description: "PEM file with the key of nats_cert_file." }),
  rate_limit_per_minute: z
    .int()
    .min(1)
    .default(600)
    .meta({ description: "Maximum requests per minute with one API key, or of one user." }),
  enrolment_rate_limit_per_minute: z
    .int()
    .min(1)
    .default(30)
    .meta({ description: "Maximum attempts per minute to enrol a device from one address." }),
  ack_timeout_s: seconds
    .max(600)
    .default(COMMAND_ACK_TIMEOUT_MS / 1000)
    .meta({ description: "How long a device may take to acknowledge a deployment before it counts as not reachable." }),
  deployment_timeout_s: seconds
    .max(WEEK_S)
    .default(DEFAULT_DEPLOYMENT_TIMEOUT_MS / 1000)
    .meta({ description: "How long a deployment may take in total." }),
  attention_after_s: seconds
    .max(366 * 24 * 3600)
    .default(24 * 3600)
    .meta({ description: "How long a device may be away before its asset needs attention." }),
  stop_delay_s: z.number().min(0).max(300).default(0).meta({
    description:
      "How long the service goes on after it was told to stop and `/readyz` says 503, so that a load balancer can notice.",
  }),
  deployment_retention_days: z
    .int()
    .min(1)
    .max(3650)
    .default(90)
    .meta({ description: "How long a deployment and its events are kept after its end." }),
  max_streams_per_account: z
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .meta({ description: "Maximum number of concurrent event streams of one account." }),
  storage_mib_per_account: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(4_096)
    .meta({ description: "Maximum size of one account's deployments and their events in the database, in MiB." }),
  max_assets_per_account: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(250_000)
    .meta({ description: "Maximum number of assets of one account." }),
  legacy_removal_at: z.iso
    .datetime({ offset: true })
    .default("2026-09-01T00:00:00Z")
    .meta({ description: "Time from which the deprecated fields and endpoints are removed." }),
  supersim_finalization_s: seconds
    .default(48 * 3600)
    .meta({ description: "How long Super SIM usage may still change, in seconds." }),
  prosim_finalization_s: seconds
    .default(72 * 3600)
    .meta({ description: "How long PRO SIM usage may still change, in seconds." }),
});

/** Configuration of edge-control. Without a file every key has its default, or is not set. */
export const configSchema = keys.superRefine((config, context) => {
  const issue = (key: string, message: string): void => context.addIssue({ code: "custom", path: [key], message });
  checkDatabaseKeys(config, issue);
  checkOidcKeys(config, issue);
});

export type Config = z.output<typeof configSchema>;
/** Configuration as written in a file. */
export type ConfigInput = z.input<typeof configSchema>;
