import { MASK } from "../../lib/redact.ts";
import type { Problems } from "../documents/problems.ts";
import type { Draft } from "../group/draft.ts";
import type { Io } from "../io.ts";
import type { RevisionApp } from "./fleet-file.ts";

interface Entry {
  readonly key?: unknown;
  readonly value?: unknown;
  readonly secret?: unknown;
}

/**
 * Gives each declared secret without a value that of the shell's variable of its name: a revision has the whole app. Adds a
 * problem for one that the shell does not have.
 */
export function fillSecrets(
  apps: readonly RevisionApp[],
  env: Io["env"],
  draft: Draft,
  problems: Problems,
): readonly RevisionApp[] {
  return apps.map((entry, index) => {
    const { environments } = entry.app;
    if (!Array.isArray(environments)) return entry;
    const filled = environments.map((each: unknown, position): unknown => {
      if (typeof each !== "object" || each === null) return each;
      const { key, value, secret }: Entry = each;
      if (typeof key !== "string") return each;
      const app = draft.apps[index];
      const refuse = (problem: string, advice: string): void => {
        if (app) problems.add(app.placeOf(["environments", position]), `${app.path}: ${key} ${problem}`, advice);
      };
      if (value === MASK)
        refuse(`has the value "${MASK}", which stands for one that is not shown.`, "Write the value.");
      if (secret !== true || value !== undefined) return each;
      const given = env[key];
      if (given !== undefined) return Object.assign({ value: given }, each);
      refuse(
        "is a secret without a value.",
        `Set ${key} in this shell, or write \${NAME} for a variable of each asset.`,
      );
      // The schema has nothing to add.
      return Object.assign({ value: "" }, each);
    });
    return { ...entry, app: { ...entry.app, environments: filled } };
  });
}
