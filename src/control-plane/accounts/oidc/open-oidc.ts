import { oidcSettingsOf } from "../../config/oidc-config.ts";
import type { Config } from "../../config/config.ts";
import type { OidcSignIn, OidcSignInOptions } from "./oidc-sign-in.ts";

/** Loads what signs people in with the configured OpenID Connect provider; `undefined` if there is none. */
export async function openOidc(
  config: Config,
  options: Omit<OidcSignInOptions, "settings" | "provider">,
): Promise<OidcSignIn | undefined> {
  const settings = oidcSettingsOf(config);
  if (!settings) return undefined;
  const [{ OidcProvider }, { OidcSignIn: Loaded }] = await Promise.all([
    import("./provider.ts"),
    import("./oidc-sign-in.ts"),
  ]);
  return new Loaded({ ...options, settings, provider: new OidcProvider(settings, options.clock) });
}
