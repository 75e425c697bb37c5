import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { looksSecret } from "../../../protocol/apps/secret-names.ts";
import { secretTexts } from "../../../protocol/apps/secret-texts.ts";
import type { DeploymentRecord } from "../records.ts";
import { runningEvent } from "./step-events.ts";

type Variable = AppSpec["environments"][number];

/** Names listed in a message; the rest is counted. */
const MAX_NAMES = 10;
const MAX_NAME_LENGTH = 64;

/**
 * Returns warnings about the secrets of a deployment: variables that look like secrets and are not declared, and
 * declared ones that cannot be masked. Of an update, only about variables that it changes.
 *
 * @param minLength the shortest value that is masked, in characters
 */
export function secretNotes(
  { spec, previous }: Pick<DeploymentRecord, "spec" | "previous">,
  minLength: number,
): EventContent[] {
  const before = new Map(previous?.spec.environments.map((variable) => [variable.key, variable]));
  const changed = (spec?.environments ?? []).filter((variable) => isChanged(variable, before.get(variable.key)));
  const undeclared = undeclaredSecrets({ environments: changed });
  const short = changed.filter((variable) =>
    secretTexts([variable]).some((text) => text !== "" && text.length < minLength),
  );
  const notes: EventContent[] = [];
  if (undeclared.length > 0) {
    const [verb, is] = undeclared.length === 1 ? ["looks like a secret", "is"] : ["look like secrets", "are"];
    notes.push(
      runningEvent(
        "checking",
        `${listNames(undeclared)} ${verb} and ${is} not declared as such (environments[].secret): if the app prints a ` +
          "value, its log shows it.",
      ),
    );
  }
  if (short.length > 0) {
    notes.push(
      runningEvent(
        "checking",
        `A secret in ${listNames(short)} is too short to be masked in the app's log: secrets of less than ${minLength} ` +
          "characters are not masked.",
      ),
    );
  }
  return notes;
}

/** Returns the names of variables that look like secrets and are not declared. */
function undeclaredSecrets({ environments }: Pick<AppSpec, "environments">): Variable[] {
  return environments.filter((variable) => variable.secret !== true && looksSecret(variable));
}

/** Lists names for a message: `A`, `A and B`, `A, B and 3 more`. */
function listNames(variables: readonly Variable[]): string {
  const names = variables.slice(0, MAX_NAMES).map(({ key }) => shorten(key));
  const more = variables.length - names.length;
  const all = more > 0 ? [...names, `${more} more`] : names;
  const last = all.pop() ?? "";
  return all.length === 0 ? last : `${all.join(", ")} and ${last}`;
}

function shorten(key: string): string {
  return key.length <= MAX_NAME_LENGTH ? key : `${key.slice(0, MAX_NAME_LENGTH - 1)}…`;
}

function isChanged({ value, secret = false }: Variable, before: Variable | undefined): boolean {
  return before?.value !== value || (before.secret ?? false) !== secret;
}
