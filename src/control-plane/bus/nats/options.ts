/** How to reach the NATS servers. Files are read again for each connection, so that they can be replaced. */
export interface NatsOptions {
  /** `nats://HOST:PORT` or `tls://HOST:PORT`, all of one cluster. */
  readonly urls: readonly string[];
  /** First tokens of all subjects, such as `edge-control`. */
  readonly prefix: string;
  readonly credentials: NatsCredentials;
  readonly tls: NatsTls;
}

export type NatsCredentials =
  | { readonly kind: "none" }
  | { readonly kind: "password"; readonly user: string; readonly passwordFile: string }
  | { readonly kind: "token"; readonly tokenFile: string }
  /** A file of `nsc`, with a JWT and the seed of its key. */
  | { readonly kind: "creds"; readonly credsFile: string }
  /** A file with the seed of a key. */
  | { readonly kind: "nkey"; readonly seedFile: string };

/** With any of these, or a `tls://` URL, a connection without TLS is refused. */
export interface NatsTls {
  /** Authorities to trust instead of the system's. */
  readonly caFile?: string;
  /** The client's certificate and key. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

const SCHEMES: ReadonlySet<string> = new Set(["nats:", "tls:"]);
const PREFIX = /^[\w-]+(?:\.[\w-]+)*$/;

/** Returns what is wrong with the options, if anything is. */
export function findOptionsError({ urls, prefix, tls }: NatsOptions): string | undefined {
  if (urls.length === 0) return "no URL of a NATS server is given";
  if (!PREFIX.test(prefix)) return `the prefix ${prefix} must be letters, digits, _ and -, in parts separated by dots`;
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined))
    return "a client certificate needs both its certificate file and its key file";
  return urls.map(findUrlError).find((error) => error !== undefined);
}

function findUrlError(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !SCHEMES.has(url.protocol) || url.hostname === "")
    return "the URL of a NATS server must be nats://HOST:PORT or tls://HOST:PORT";
  // Not quoted: it may contain a password.
  if (url.username !== "" || url.password !== "")
    return "the URL of a NATS server must not contain credentials; give them in a file";
  return undefined;
}

export function requiresTls({ urls, tls }: NatsOptions): boolean {
  return (
    tls.caFile !== undefined || tls.certFile !== undefined || urls.some((url) => URL.parse(url)?.protocol === "tls:")
  );
}
