interface Host {
  readonly hostname: string;
  /** Absent for all ports. */
  readonly port: number | undefined;
}

/** Hosts that the operator of the service allows to be private and without TLS. */
export class PrivateHosts {
  readonly #hosts: readonly Host[];

  /** @param entries `HOST` or `HOST:PORT`; others are left out */
  constructor(entries: readonly string[]) {
    this.#hosts = entries.flatMap((entry) => parseHost(entry) ?? []);
  }

  has(url: URL): boolean {
    const defaultPort = url.protocol === "https:" ? 443 : 80;
    const port = url.port === "" ? defaultPort : Number(url.port);
    return this.#hosts.some((host) => host.hostname === url.hostname && (host.port ?? port) === port);
  }
}

/** Whether the text is `HOST` or `HOST:PORT`, with an IPv6 address in brackets. */
export function isHost(text: string): boolean {
  return parseHost(text) !== undefined;
}

function parseHost(text: string): Host | undefined {
  const [, name = "", port] = /^(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  // As in the URLs it is compared with: lower case, one notation of each IP address.
  const hostname = URL.parse(`https://${name}`)?.hostname;
  if (name === "" || hostname === undefined || Number(port ?? 0) > 65_535) return undefined;
  return { hostname, port: port === undefined ? undefined : Number(port) };
}
