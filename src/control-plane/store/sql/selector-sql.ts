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
  const ofAsset = `g.asset_uuid = a.uuid AND g.key = ${key}`;
  // A count: for EXISTS, PostgreSQL may collect the tags of all assets first.
  const has = `(${isType} OR (SELECT count(*) FROM asset_tags g WHERE ${ofAsset}) > 0)`;
  const hasOne = `(CASE WHEN ${isType} THEN ${dialect.jsonListHas("term.value", "values", "a.type")}
    ELSE EXISTS (SELECT 1 FROM asset_tags g WHERE ${ofAsset} AND ${dialect.jsonListHas("term.value", "values", "g.value")})
    END)`;
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
    WHERE g.account_id = ${account} AND g.key = ${key} AND ${dialect.isOneOf("g.value", values)})`;
}

/**
 * Returns the condition that an asset has one of some values of a tag: one look at its tags, which leaves out most assets that a
 * selector with such a term does not match, before all its terms are compared.
 */
export function tagIsSql(dialect: Dialect, uuid: string, key: string, values: string): string {
  const value = `SELECT g.value FROM asset_tags g WHERE g.asset_uuid = ${uuid} AND g.key = ${key}`;
  return `(${value}) IN ${dialect.jsonTexts(values)}`;
}

/** A term that a tag has one of some values. */
export type TagTerm = SelectorTerm & { readonly op: "in" };

/** Returns the terms by which the index of tags can find what the selector matches. */
export function tagTermsOf(terms: readonly SelectorTerm[]): readonly TagTerm[] {
  return terms.filter((term): term is TagTerm => term.op === "in" && term.key !== TYPE_KEY);
}
