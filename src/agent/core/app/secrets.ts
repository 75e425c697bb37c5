import type { AppSpec } from "../../../protocol/app-spec.ts";
import type { DeploymentRecord } from "../deployment/record.ts";

/*
 * What is masked where. No value of an app's environment may appear in texts of the agent: logs, messages of events and
 * errors, the support bundle. The app's own output passes unchanged except for declared secrets, because masking every
 * value ("info", "8080") makes it unreadable.
 */

type Environment = Partial<Pick<AppSpec, "environments">>;
type Secrets = Pick<DeploymentRecord, "spec" | "previous" | "options">;

/** Returns the values of all environment variables, to mask in the agent's own texts. */
export function environmentValuesOf(spec: Environment | undefined): string[] {
  return spec?.environments?.map(({ value }) => value) ?? [];
}

/** Returns the values that are declared secret, to mask in the app's own output. */
export function declaredSecretsOf(spec: Environment | undefined): string[] {
  return environmentValuesOf({ environments: spec?.environments?.filter(({ secret }) => secret === true) ?? [] });
}

/** Returns what to mask in the agent's own texts about a deployment. */
export function secretsOfRecord({ spec, previous, options }: Secrets): string[] {
  return [...environmentValuesOf(spec), ...environmentValuesOf(previous?.spec), ...secretsOfAuth(options)];
}

/** Returns what to mask in the app's own output during a deployment. The app may also print the previous version's. */
export function declaredSecretsOfRecord({ spec, previous, options }: Secrets): string[] {
  return [...declaredSecretsOf(spec), ...declaredSecretsOf(previous?.spec), ...secretsOfAuth(options)];
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
