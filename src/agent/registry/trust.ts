import { readdir, readFile } from "node:fs/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import { join } from "node:path";
import type { SecureContext } from "node:tls";
import { stripBrackets } from "../core/net/hostname.ts";
import { createTrustContext } from "../net/trust.ts";
import { canonicalRegistry, registryHost } from "../../lib/registry/address.ts";
import { RegistryError } from "./registry-error.ts";
import type { TrustSource } from "./registry-http.ts";

export interface TrustOptions {
  /** PEM of certificate authorities trusted for every host. */
  readonly extraCa: string | undefined;
  /** Settings of single registries from the configuration. */
  readonly registries: readonly RegistryTrust[];
  /** The engine's insecure registries: names, and address ranges such as `10.0.0.0/8`. */
  readonly engineInsecure: (signal: AbortSignal) => Promise<readonly string[]>;
  /** The engines' certificate directories, each with a subdirectory per registry. */
  readonly certificateDirectories?: readonly string[];
}

export interface RegistryTrust {
  readonly host: string;
  readonly ca_file?: string | undefined;
  /** Allows plain HTTP and any certificate. */
  readonly insecure: boolean;
  /** Further token servers that may get its credentials. */
  readonly auth_hosts?: readonly string[] | undefined;
}

const ENGINE_DIRECTORIES = ["/etc/docker/certs.d", "/etc/containers/certs.d"];
const CERTIFICATE = "-----BEGIN CERTIFICATE-----";

/**
 * Trusts a registry by the configuration and by the engine's settings: a private registry's certificate is usually in the
 * engine's directory already. Files are read each time, since certificates are renewed.
 */
export function createTrustSource(options: TrustOptions): TrustSource {
  const { extraCa, engineInsecure, certificateDirectories = ENGINE_DIRECTORIES } = options;
  const registries = new Map(options.registries.map((entry) => [canonicalRegistry(entry.host), entry]));
  const contexts = new Map<string, SecureContext>();
  const contextOf = (pem: string, registry: string): SecureContext => {
    // Cached: creating one takes tens of milliseconds.
    const context = contexts.get(pem) ?? makeContext(pem, registry);
    contexts.set(pem, context);
    return context;
  };
  return async (registry, signal) => {
    const own = registries.get(canonicalRegistry(registry));
    const pems = [
      extraCa,
      own?.ca_file === undefined ? undefined : await readCa(own.ca_file, registry),
      ...(await certificatesFor(registryHost(registry), certificateDirectories)),
    ];
    const known = pems.filter((pem) => pem !== undefined);
    const insecure = own?.insecure || isListed(registry, await engineInsecure(signal));
    return {
      insecure,
      secureContext: known.length > 0 ? contextOf(known.join("\n"), registry) : undefined,
      authHosts: own?.auth_hosts,
    };
  };
}

/** Whether the list contains the registry, or a range with its IP address. */
function isListed(registry: string, list: readonly string[]): boolean {
  const address = stripBrackets(registry.replace(/:\d+$/, ""));
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  return list.some((entry) => {
    const [net = "", bits] = entry.split("/");
    if (entry === registry || bits === undefined) return entry === registry;
    if (isIP(address) === 0 || isIPv6(net) !== isIPv6(address)) return false;
    const range = new BlockList();
    range.addSubnet(net, Number(bits), family);
    return range.check(address, family);
  });
}

function makeContext(pem: string, registry: string): SecureContext {
  const what = `the file of trusted authorities for ${registry}`;
  try {
    return createTrustContext(pem, what);
  } catch (error) {
    throw new RegistryError("registry_untrusted", error instanceof Error ? error.message : what, { cause: error });
  }
}

async function readCa(file: string, registry: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code = "error" } = error as NodeJS.ErrnoException;
    throw new RegistryError("registry_untrusted", `ca_file of ${registry} (${file}) cannot be read: ${code}`, {
      cause: error,
    });
  }
}

async function certificatesFor(host: string, directories: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  for (const directory of directories) {
    const home = join(directory, host);
    // Most registries have no directory.
    const names = await readdir(home).catch(() => []);
    for (const name of names.filter((file) => file.endsWith(".crt")).toSorted()) {
      const text = await readFile(join(home, name), "utf8").catch(() => "");
      // Files without a certificate are the engine's concern.
      if (text.includes(CERTIFICATE)) texts.push(text);
    }
  }
  return texts;
}
