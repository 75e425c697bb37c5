import { configSecrets } from "../config/masked.ts";
import type { ConfigFile } from "../config/schema.ts";
import { passwordsIn } from "../../protocol/apps/secret-texts.ts";
import { declaredSecretsOf, environmentValuesOf, secretsOfRecord } from "../core/app/secrets.ts";
import type { StoreReader } from "../store/store.ts";

interface Sources {
  readonly config:
    | (Pick<ConfigFile, "control_plane_url" | "device_token" | "registries"> & { readonly token?: string })
    | Error;
  /** `undefined` if this user may not read it. */
  readonly store: Pick<StoreReader, "apps" | "deployments" | "fileContent"> | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the secrets that must not leave this device: tokens, values of apps' environments, passwords in URLs. */
export function knownSecrets({ config, store, env }: Sources): string[] {
  const addresses = Object.entries(env).flatMap(([name, value]) => (/_proxy$/i.test(name) ? [value ?? ""] : []));
  const own =
    config instanceof Error
      ? []
      : [config.token, config.device_token, ...configSecrets(config), ...passwordsIn(config.control_plane_url)];
  const apps = store?.apps().flatMap(({ spec }) => environmentValuesOf(spec)) ?? [];
  const deployments = store?.deployments().flatMap(secretsOfRecord) ?? [];
  const textOf = (id: string): string | undefined => store?.fileContent(id)?.toString();
  const specs = [
    ...(store?.apps().map(({ spec }) => spec) ?? []),
    ...(store?.deployments().flatMap(({ spec, previous }) => [spec, previous?.spec]) ?? []),
  ];
  const files = specs.flatMap((spec) => declaredSecretsOf(spec && { files: spec.files ?? [] }, textOf));
  return [...own, ...apps, ...deployments, ...files, ...addresses.flatMap(passwordsIn)].flatMap((secret) =>
    secret ? [secret] : [],
  );
}
