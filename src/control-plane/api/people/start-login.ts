import { EdgeError } from "../../../protocol/errors/errors.ts";
import {
  LOGIN_REQUEST_PAGE,
  type LoginKey,
  loginKeySchema,
  loginRequestCreationSchema,
  loginTokenRequestSchema,
  type PendingLogin,
  pendingLoginSchema,
  type StartedLogin,
  startedLoginSchema,
} from "../../../protocol/people/login-request.ts";
import { LOGIN_POLL_S, LOGIN_REQUEST_S } from "../../core/people/login-request.ts";
import { beginLogin, takeLoginKey } from "../../accounts/login-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { json, publicErrorsWithBody } from "../docs/responses.ts";
import { findAccount } from "./session-resource.ts";

/** When to try again while too many log-ins wait, in seconds. */
const BUSY_RETRY_S = 60;

/** `POST /v1/device-logins`: begins the log-in of a program, which a person confirms in the console. */
export function startLogin(api: Api, context: ApiContext<"accounts">): void {
  const { observer, accounts } = context;
  api.post(
    "/v1/device-logins",
    {
      schema: {
        operationId: "startLogin",
        summary: "Start Log-In",
        description:
          "Begins the log-in of a program such as `edgectl`, in the shape of RFC 8628: show `user_code` and " +
          "`verification_url` to the person, who confirms the request in the console within 10 minutes, and ask for the key " +
          "with `device_code` meanwhile.",
        tags: ["People"],
        security: [],
        body: loginRequestCreationSchema,
        response: { 201: json("The codes of the request.", startedLoginSchema), ...publicErrorsWithBody() },
      },
    },
    async (request, reply): Promise<StartedLogin> => {
      const codes = await beginLogin(context, request.body.client_name, request.ip, () =>
        observer?.bounded("login_requests"),
      );
      if (!codes) {
        const details = { retry_after_s: BUSY_RETRY_S };
        throw new EdgeError("TooManyRequests", "Too many log-in requests wait to be confirmed.", details);
      }
      const url = accounts.site.urlOf(request);
      void reply.code(201);
      return {
        device_code: codes.deviceCode,
        user_code: codes.userCode,
        verification_url: `${url}${LOGIN_REQUEST_PAGE}`,
        // The code is in the fragment, which browsers do not send.
        verification_url_complete: `${url}/#${LOGIN_REQUEST_PAGE}?code=${codes.userCode}`,
        interval_s: LOGIN_POLL_S,
        expires_in_s: LOGIN_REQUEST_S,
      };
    },
  );
}

/** `POST /v1/device-logins/token`: fetches the key of a log-in that was confirmed. */
export function fetchLoginKey(api: Api, context: ApiBase): void {
  const { store } = context;
  api.post(
    "/v1/device-logins/token",
    {
      schema: {
        operationId: "fetchLoginKey",
        summary: "Fetch Key of Log-In",
        description:
          "Makes the API key when the person has confirmed the request. Asked again, it returns the same key until the request " +
          "expires. Before the person has decided the response is " +
          "202; ask again after `interval_s`. The key has the role that the person chose, and belongs to the person; it is also " +
          "revoked when 20 later ones of the person were used since.",
        tags: ["People"],
        security: [],
        body: loginTokenRequestSchema,
        response: {
          200: json("The key.", loginKeySchema),
          202: json("No decision yet.", pendingLoginSchema),
          ...publicErrorsWithBody(
            "LoginRequestUnknown",
            "LoginRequestExpired",
            "LoginRequestDenied",
            "CrossSiteRequest",
          ),
        },
      },
    },
    async (request, reply): Promise<LoginKey | PendingLogin> => {
      const { result, secret } = await takeLoginKey(context, request.body.device_code, request.ip);
      switch (result.kind) {
        case "pending":
          void reply.code(202);
          return { state: "pending", interval_s: LOGIN_POLL_S };
        case "denied":
          throw new EdgeError("LoginRequestDenied");
        case "expired":
          throw new EdgeError("LoginRequestExpired");
        case "unknown":
          throw new EdgeError("LoginRequestUnknown");
        case "key": {
          const { id, accountId, role, expiresAt } = result.key;
          const { name } = await findAccount(store, accountId);
          const account = { id: accountId, name };
          return { api_key: secret, key_id: id, role, expires_at: expiresAt ?? null, account };
        }
      }
    },
  );
}
