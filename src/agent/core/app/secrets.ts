import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { secretTexts, valueAndParts } from "../../../protocol/apps/secret-texts.ts";
import { contentId, secretLines } from "./files.ts";
import type { DeploymentRecord } from "../records.ts";

/*
 * What is masked where. No value of an app's environment may appear in texts of the agent: logs, messages of events and
 * errors, the support bundle. The app's own output passes unchanged except for declared secrets, because masking every
 * value ("info", "8080") makes it unreadable.
 */

type Environment = Partial<Pick<AppSpec, "environments" | "files">>;
type Secrets = Pick<DeploymentRecord, "spec" | "previous" | "options">;

/** Returns the values of all environment variables, and the secrets in them, to mask in the agent's own texts. */
export function environmentValuesOf(spec: Environment | undefined): string[] {
  return spec?.environments?.flatMap(valueAndParts) ?? [];
}

/** Returns the text of a file by the id of its content; `undefined` if it is lost. */
export type ReadText = (id: string) => string | undefined;

/**
 * Returns what is declared secret, to mask in the app's own output: values of variables, parts of them, and the lines of
 * secret files.
 */
export function declaredSecretsOf(spec: Environment | undefined, readText: ReadText): string[] {
  const files = spec?.files?.filter(({ secret }) => secret === true) ?? [];
  const lines = files.flatMap((file) => secretLines(readText(contentId(file)) ?? ""));
  return [...secretTexts(spec?.environments ?? []), ...lines];
}

/** Returns what to mask in the agent's own texts about a deployment. */
export function secretsOfRecord({ spec, previous, options }: Secrets): string[] {
  return [...environmentValuesOf(spec), ...environmentValuesOf(previous?.spec), ...secretsOfAuth(options)];
}

/** Returns what to mask in the app's own output during a deployment. The app may also print the previous version's. */
export function declaredSecretsOfRecord({ spec, previous, options }: Secrets, readText: ReadText): string[] {
  const versions = [spec, previous?.spec];
  return [...versions.flatMap((version) => declaredSecretsOf(version, readText)), ...secretsOfAuth(options)];
}

/** Where in the value of a variable a part is a secret by itself. */
type SecretPlaces = readonly [key: string, ...places: (readonly [from: number, to: number])[]];

/**
 * Returns what is secret in the variables, for the label of the container: the names of those that are declared so, and the
 * places of secret parts. Labels hold no secrets.
 */
export function toSecretsLabel({ environments }: Pick<AppSpec, "environments">): string {
  const names = environments.filter(({ secret }) => secret === true).map(({ key }) => key);
  const places = environments.flatMap(({ key, value, secret_parts: parts = [] }): SecretPlaces[] => {
    const found = parts.filter((part) => value.includes(part)).map((part) => placeOf(part, value));
    return found.length > 0 ? [[key, ...found]] : [];
  });
  return JSON.stringify([...names, ...places]);
}

function placeOf(part: string, value: string): readonly [from: number, to: number] {
  const from = value.indexOf(part);
  return [from, from + part.length];
}

/** Returns an event's details without what they quote of the app's output, which may contain any value. */
export function withoutAppOutput(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { logs: _logs, output: _output, ...own } = details;
  return own;
}

function secretsOfAuth({ registry_auth: auth }: DeploymentRecord["options"]): string[] {
  if (!auth) return [];
  return "token" in auth ? [auth.token] : [auth.password];
}
