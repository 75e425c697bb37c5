import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SecureContext } from "node:tls";
import { trustAlso } from "../link/trust.ts";
import { registryHost } from "./address.ts";
import type { TrustSource } from "./registry-http.ts";

export interface TrustOptions {
  /** PEM of authorities trusted for every host. */
  readonly extraCa: string | undefined;
  /** What the configuration says of single registries, by the name references give them. */
  readonly registries: ReadonlyMap<string, { readonly insecure: boolean; readonly ca: string | undefined }>;
  /** Registries the engine takes without TLS, by the same names. Empty where the engine cannot be asked. */
  readonly engineInsecure: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Where engines look for certificates, a directory for each registry. */
  readonly certificateDirectories?: readonly string[];
}

const ENGINE_DIRECTORIES = ["/etc/docker/certs.d", "/etc/containers/certs.d"];

/**
 * Trusts a registry as the configuration says, and as the engine would: whoever set up a registry of his own has put
 * its certificate where the engine looks.
 */
export function createTrustSource(options: TrustOptions): TrustSource {
  const { extraCa, registries, engineInsecure, certificateDirectories = ENGINE_DIRECTORIES } = options;
  // Making one takes tens of milliseconds.
  const contexts = new Map<string, SecureContext>();
  const contextOf = (pem: string): SecureContext => {
    const context = contexts.get(pem) ?? trustAlso(pem);
    contexts.set(pem, context);
    return context;
  };
  return async (registry, signal) => {
    const own = registries.get(registry);
    const pems = [extraCa, own?.ca, ...(await certificatesFor(registryHost(registry), certificateDirectories))];
    const known = pems.filter((pem) => pem !== undefined);
    const insecure = own?.insecure ?? (await engineInsecure(signal)).includes(registry);
    return { insecure, secureContext: known.length > 0 ? contextOf(known.join("\n")) : undefined };
  };
}

async function certificatesFor(host: string, directories: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  for (const directory of directories) {
    const home = join(directory, host);
    const names = await readdir(home).catch(() => []);
    for (const name of names.filter((file) => file.endsWith(".crt")).toSorted()) {
      const text = await readFile(join(home, name), "utf8").catch(() => "");
      // What is no certificate is the engine's to complain of.
      if (text.includes("-----BEGIN CERTIFICATE-----")) texts.push(text);
    }
  }
  return texts;
}
