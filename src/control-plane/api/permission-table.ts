import { findWithoutAction } from "../core/people/endpoint-actions.ts";
import { findUnlisted, isListed } from "../core/people/endpoint-permissions.ts";
import type { Api } from "./context.ts";

/**
 * Makes sure that the table of permissions lists every endpoint. Call it before the routes are registered, and the function
 * it returns afterwards, which throws if one is missing.
 */
export function trackPermissions(api: Api): () => void {
  const endpoints: { readonly method: string; readonly path: string }[] = [];
  api.addHook("onRoute", ({ url, method }) => {
    for (const name of [method].flat()) endpoints.push({ method: name, path: url });
  });
  return () => {
    const missing = findUnlisted(endpoints);
    if (missing.length > 0) throw new Error(`no permission is defined for ${missing.join(", ")}`);
    const without = findWithoutAction(endpoints.filter(({ path }) => isListed(path)));
    if (without.length > 0) throw new Error(`no action of the audit log is defined for ${without.join(", ")}`);
  };
}
