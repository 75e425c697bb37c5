import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import { TYPE_KEY } from "../../../protocol/fleets/tags.ts";
import type { Dialect } from "./dialect.ts";

/*
 * Selectors in SQL. The terms are one parameter, a list in JSON, so that there is one statement for all selectors: statements
 * are kept prepared, and customers can write selectors of any shape. It means what `matchesSelector` does.
 */

/** Returns the condition that the asset `a` matches the terms. */
export function matchesSql(dialect: Dialect, terms: string): string {
  const key = "(term.value ->> 'key')";
  const op = "(term.value ->> 'op')";
  const isType = `${key} = '${TYPE_KEY}'`;
  const tag = `SELECT 1 FROM asset_tags g WHERE g.asset_uuid = a.uuid AND g.key = ${key}`;
  const has = `(${isType} OR EXISTS (${tag}))`;
  const hasOne = `(CASE WHEN ${isType} THEN ${dialect.jsonListHas("term.value", "values", "a.type")}
    ELSE EXISTS (${tag} AND ${dialect.jsonListHas("term.value", "values", "g.value")}) END)`;
  return /* sql */ `NOT EXISTS (
    SELECT 1 FROM ${dialect.jsonRows(terms, "term")} WHERE NOT CASE ${op}
      WHEN 'in' THEN ${hasOne} WHEN 'not_in' THEN NOT ${hasOne} WHEN 'exists' THEN ${has} ELSE NOT ${has} END)`;
}

/**
 * Returns the condition that the asset `a` has one of some values of a tag: a scan of the index of tags, which finds most of
 * what a selector matches without looking at every asset.
 */
export function hasTagSql(dialect: Dialect, account: string, key: string, values: string): string {
  return /* sql */ `a.uuid IN (
    SELECT g.asset_uuid FROM asset_tags g
    WHERE g.account_id = ${account} AND g.key = ${key} AND g.value IN ${dialect.jsonTexts(values)})`;
}

/** Returns a term by which `hasTagSql` can find what the selector matches; `undefined` if there is none. */
export function findTagTerm(terms: readonly SelectorTerm[]): (SelectorTerm & { readonly op: "in" }) | undefined {
  return terms.find((term): term is SelectorTerm & { readonly op: "in" } => term.op === "in" && term.key !== TYPE_KEY);
}
