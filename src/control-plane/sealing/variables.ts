import type { VariableValue } from "../../protocol/values/substitute.ts";
import type { Variables } from "../../protocol/values/variables.ts";
import type { StoredVariable } from "../store/asset-settings.ts";
import { type Seal, type Sealer, variablePurpose } from "./sealer.ts";

/** A variable with its value. */
export type PlainVariable = VariableValue;

/** Returns variables of an asset with their values, by name. Throws if one cannot be opened. */
export function openVariables(
  sealer: Sealer,
  assetUuid: string,
  stored: readonly StoredVariable[],
): ReadonlyMap<string, PlainVariable> {
  return new Map(
    stored.map((variable) => {
      const { name, isSecret } = variable;
      const value = Buffer.from(sealer.open(variable, variablePurpose(assetUuid, name))).toString("utf8");
      return [name, { value, isSecret }];
    }),
  );
}

/** Returns changes of variables as they are stored. `null` removes one. */
export function sealVariables(
  seal: Seal,
  assetUuid: string,
  changes: readonly (readonly [string, Variables[string] | null])[],
): ReadonlyMap<string, Omit<StoredVariable, "name"> | null> {
  return new Map(
    changes.map(([name, to]) => [
      name,
      to && { ...seal(Buffer.from(to.value), variablePurpose(assetUuid, name)), isSecret: to.secret },
    ]),
  );
}
