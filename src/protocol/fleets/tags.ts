import { z } from "zod";

/*
 * Tags of assets: keys and values as labels in Kubernetes, so that selectors read the same.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */

/** Maximum number of tags of one asset. */
export const MAX_TAGS = 50;

/** The key under which selectors know the type of an asset. No tag has it. */
export const TYPE_KEY = "type";

const MAX_NAME_LENGTH = 63;
const MAX_PREFIX_LENGTH = 253;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Returns what is wrong with the key of a tag; `undefined` if nothing is. */
export function explainTagKey(key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = slash === -1 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (name.length > MAX_NAME_LENGTH || !LABEL.test(name)) {
    return `must be 1 to ${MAX_NAME_LENGTH} letters, digits, '.', '_' or '-', beginning and ending with a letter or digit`;
  }
  if (prefix !== undefined && (prefix.length > MAX_PREFIX_LENGTH || !LABEL.test(prefix))) {
    return `has a prefix before '/' that is not 1 to ${MAX_PREFIX_LENGTH} letters, digits, '.', '_' or '-'`;
  }
  return undefined;
}

/** Whether a text may be the value of a tag. The empty one may. */
export function isTagValue(value: string): boolean {
  return value === "" || (value.length <= MAX_NAME_LENGTH && LABEL.test(value));
}

export const tagKey = z
  .string()
  .superRefine((key, context) => {
    const problem = key === TYPE_KEY ? "is reserved: selectors know the asset's type by this name" : explainTagKey(key);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ maxLength: MAX_PREFIX_LENGTH + 1 + MAX_NAME_LENGTH });

const tagValue = z
  .string()
  .refine(
    isTagValue,
    `must be empty or 1 to ${MAX_NAME_LENGTH} letters, digits, '.', '_' or '-', beginning and ending with a letter or digit`,
  )
  .meta({ maxLength: MAX_NAME_LENGTH });

const withinBound = (tags: object): boolean => Object.keys(tags).length <= MAX_TAGS;
const TOO_MANY = `must not have more than ${MAX_TAGS} tags`;

/** All tags of an asset. */
export const tagsSchema = z
  .record(tagKey, tagValue)
  .refine(withinBound, TOO_MANY)
  .meta({
    id: "Tags",
    description: `Up to ${MAX_TAGS} tags, each a key with a value, which may be empty.`,
    examples: [{ region: "north", role: "kiosk" }],
    maxProperties: MAX_TAGS,
  });
export type Tags = z.output<typeof tagsSchema>;

/** Changes of tags: a value sets a tag, `null` removes it. */
export const tagsUpdateSchema = z
  .record(tagKey, tagValue.nullable())
  .refine(withinBound, TOO_MANY)
  .meta({
    id: "TagsUpdate",
    description: "Tags to set; `null` removes one. Tags that are not named stay.",
    examples: [{ region: "south", beta: null }],
    maxProperties: MAX_TAGS,
  });
