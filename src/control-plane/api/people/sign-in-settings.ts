import { type SignInSettings, signInSettingsSchema } from "../../../protocol/people/users.ts";
import type { Role } from "../../core/people/roles.ts";
import { oidcSettingsOf } from "../../config/oidc-config.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

/** `GET /v1/sign-in-settings`: how people sign in. */
export function getSignInSettings(api: Api, { config }: ApiBase): void {
  api.get(
    "/v1/sign-in-settings",
    {
      schema: {
        operationId: "getSignInSettings",
        summary: "Get Sign-In Settings",
        description:
          "How people sign in. The identity provider is set in the configuration of the service, since its secret is in a file " +
          "there; it is the same for all accounts.",
        tags: ["People"],
        response: { 200: json("The settings.", signInSettingsSchema), ...errors() },
      },
    },
    async (request): Promise<SignInSettings> => {
      const settings = oidcSettingsOf(config);
      if (!settings) return { oidc: null };
      const { issuer, clientId, name, scope, redirectUri, rules } = settings;
      const roles = rules.roles ?? null;
      const of = (role: Role): string[] => [...(roles?.[role] ?? [])];
      return {
        oidc: {
          name,
          issuer,
          client_id: clientId,
          redirect_uri: redirectUri,
          scope,
          roles_claim: rules.rolesClaim,
          roles: roles && {
            viewer: of("viewer"),
            installer: of("installer"),
            operator: of("operator"),
            admin: of("admin"),
          },
          domains: [...rules.domains],
          creates_users: rules.accountId === accountOf(request),
        },
      };
    },
  );
}
