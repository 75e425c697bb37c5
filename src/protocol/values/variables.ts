import { z } from "zod";
import { utf8ByteLength } from "./utf8-byte-length.ts";

/** Maximum number of variables of one asset. */
export const MAX_VARIABLES = 100;

/** Maximum size of a variable's value, as UTF-8. */
const MAX_VALUE_BYTES = 16 * 1024;

const NUL = "\0";

export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const variableName = z
  .string()
  .regex(VARIABLE_NAME, "must be 1 to 64 letters, digits or '_', not beginning with a digit");

const variable = z
  .strictObject({
    value: z
      .string()
      .max(MAX_VALUE_BYTES)
      .refine((value) => !value.includes(NUL), "must not contain NUL")
      .refine((value) => utf8ByteLength(value) <= MAX_VALUE_BYTES, `must not have more than ${MAX_VALUE_BYTES} bytes`)
      .meta({ description: "Its value, at most 16 KiB; may be empty." }),
    secret: z.boolean().default(false).meta({
      description: "Whether the value is never shown again, and masked in everything of the app that uses it.",
    }),
  })
  .meta({ id: "Variable" });

const withinBound = (variables: object): boolean => Object.keys(variables).length <= MAX_VARIABLES;
const TOO_MANY = `must not have more than ${MAX_VARIABLES} variables`;
const example = { SITE_ID: { value: "pump-7" }, API_TOKEN: { value: "…", secret: true } };

/** All variables of an asset, as a client sets them. */
export const variablesSchema = z
  .record(variableName, variable)
  .refine(withinBound, TOO_MANY)
  .meta({
    id: "Variables",
    description: `Up to ${MAX_VARIABLES} variables, by name.`,
    examples: [example],
    maxProperties: MAX_VARIABLES,
  });
export type Variables = z.output<typeof variablesSchema>;

/** Changes of variables: an object sets one, `null` removes it. */
export const variablesUpdateSchema = z
  .record(variableName, variable.nullable())
  .refine(withinBound, TOO_MANY)
  .meta({
    id: "VariablesUpdate",
    description: "Variables to set; `null` removes one. Those that are not named stay.",
    examples: [{ ...example, OLD_NAME: null }],
    maxProperties: MAX_VARIABLES,
  });

/** The variables of an asset as they are shown. */
export const shownVariablesSchema = z
  .record(
    z.string(),
    z.strictObject({
      value: z.string().nullable().meta({ description: "Its value; null if it is a secret." }),
      secret: z.boolean().meta({ description: "Whether the value is a secret." }),
    }),
  )
  .meta({ id: "ShownVariables", description: "The variables of an asset, by name." });
export type ShownVariables = z.output<typeof shownVariablesSchema>;
