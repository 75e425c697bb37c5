import type { NatsCredentials, NatsOptions } from "./options.ts";

/** The keys of the service's configuration that are about NATS. */
export interface NatsConfig {
  readonly nats_url?: string | undefined;
  readonly nats_prefix: string;
  readonly nats_user?: string | undefined;
  readonly nats_password_file?: string | undefined;
  readonly nats_token_file?: string | undefined;
  readonly nats_creds_file?: string | undefined;
  readonly nats_nkey_file?: string | undefined;
  readonly nats_ca_file?: string | undefined;
  readonly nats_cert_file?: string | undefined;
  readonly nats_key_file?: string | undefined;
}

/** Returns how to reach NATS; `undefined` if it is not configured. Throws if keys contradict each other. */
export function natsOptionsOf(config: NatsConfig): NatsOptions | undefined {
  const { nats_url: url, nats_prefix: prefix } = config;
  if (url === undefined) {
    const [key] = Object.entries(config).find(([name, value]) => isNatsKey(name) && value !== undefined) ?? [];
    if (key !== undefined) throw new Error(`${key} has no effect without nats_url`);
    return undefined;
  }
  const { nats_ca_file: caFile, nats_cert_file: certFile, nats_key_file: keyFile } = config;
  return {
    urls: url.split(",").map((each) => each.trim()),
    prefix,
    credentials: credentialsOf(config),
    tls: {
      ...(caFile !== undefined && { caFile }),
      ...(certFile !== undefined && { certFile }),
      ...(keyFile !== undefined && { keyFile }),
    },
  };
}

const isNatsKey = (name: string): boolean => name.startsWith("nats_") && name !== "nats_prefix";

function credentialsOf(config: NatsConfig): NatsCredentials {
  const { nats_user: user, nats_password_file: passwordFile } = config;
  const { nats_token_file: tokenFile, nats_creds_file: credsFile, nats_nkey_file: seedFile } = config;
  if ((user === undefined) !== (passwordFile === undefined))
    throw new Error("nats_user and nats_password_file belong together");
  const found: NatsCredentials[] = [];
  if (user !== undefined && passwordFile !== undefined) found.push({ kind: "password", user, passwordFile });
  if (tokenFile !== undefined) found.push({ kind: "token", tokenFile });
  if (credsFile !== undefined) found.push({ kind: "creds", credsFile });
  if (seedFile !== undefined) found.push({ kind: "nkey", seedFile });
  if (found.length > 1)
    throw new Error(
      "give one kind of credentials for NATS: nats_user with nats_password_file, nats_token_file, nats_creds_file or nats_nkey_file",
    );
  return found[0] ?? { kind: "none" };
}
