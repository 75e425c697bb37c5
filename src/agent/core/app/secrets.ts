import type { AppSpec } from "../../../protocol/app-spec.ts";
import { contentId, secretLines } from "./files.ts";
import type { DeploymentRecord } from "../deployment/record.ts";

/*
 * What is masked where. No value of an app's environment may appear in texts of the agent: logs, messages of events and
 * errors, the support bundle. The app's own output passes unchanged except for declared secrets, because masking every
 * value ("info", "8080") makes it unreadable.
 */

type Environment = Partial<Pick<AppSpec, "environments" | "files">>;
type Secrets = Pick<DeploymentRecord, "spec" | "previous" | "options">;

/** Returns the values of all environment variables, to mask in the agent's own texts. */
export function environmentValuesOf(spec: Environment | undefined): string[] {
  return spec?.environments?.map(({ value }) => value) ?? [];
}

/** Returns the text of a file by the id of its content; `undefined` if it is lost. */
export type ReadText = (id: string) => string | undefined;

/**
 * Returns the values that are declared secret, to mask in the app's own output: of variables, and the lines of secret
 * files.
 */
export function declaredSecretsOf(spec: Environment | undefined, readText: ReadText): string[] {
  const variables = spec?.environments?.filter(({ secret }) => secret === true) ?? [];
  const files = spec?.files?.filter(({ secret }) => secret === true) ?? [];
  const lines = files.flatMap((file) => secretLines(readText(contentId(file)) ?? ""));
  return [...environmentValuesOf({ environments: variables }), ...lines];
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

/** Returns the names of the variables that are declared secret. */
export function secretKeysOf(spec: AppSpec): string[] {
  return spec.environments.filter(({ secret }) => secret === true).map(({ key }) => key);
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
