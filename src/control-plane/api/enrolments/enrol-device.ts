import { type Enrolment, enrolmentRequestSchema, enrolmentSchema } from "../../../protocol/assets/enrolment.ts";
import { redeemCode } from "../../assets/enrolment-codes.ts";
import type { Api, ApiContext } from "../context.ts";
import { publicErrorsWithBody, json } from "../docs/responses.ts";

/** `POST /v1/enrolments`: exchanges an enrolment code for a device token. The code stands in for an API key. */
export function enrolDevice(api: Api, { store, clock, logger, accounts }: ApiContext<"accounts">): void {
  api.post(
    "/v1/enrolments",
    {
      schema: {
        operationId: "enrolDevice",
        summary: "Enrol Device",
        description:
          "Exchanges a one-time code for a device token, which is shown only once. Within 15 minutes the " +
          "same code with the same nonce is accepted again and returns another token. The device gets " +
          "nothing of a fleet's until it is accepted, unless the account accepts by itself. Attempts are " +
          "limited by address.",
        tags: ["Devices"],
        body: enrolmentRequestSchema,
        response: {
          201: json("The device's new token and its asset.", enrolmentSchema),
          ...publicErrorsWithBody(
            "EnrolmentCodeUnknown",
            "EnrolmentCodeExpired",
            "EnrolmentCodeUsed",
            "DeviceInService",
          ),
        },
      },
    },
    async (request, reply): Promise<Enrolment> => {
      const { code, nonce } = request.body;
      const enrolment = await redeemCode({ store, clock, refusals: accounts.refusals }, code, nonce, request.ip);
      logger.info({ asset: enrolment.asset.uuid, request_id: request.id }, "device enrolled with a code");
      void reply.code(201);
      return enrolment;
    },
  );
}
