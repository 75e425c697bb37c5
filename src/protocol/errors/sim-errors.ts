/** The part of the error table for SIMs and their operators. */
export const SIM_ERRORS = {
  AssetHasNoSim: {
    message: "The asset has no SIM, so its status cannot be set.",
    http: 409,
    retryable: false,
    hint: "Only assets with a Super SIM or a PRO SIM can be activated or deactivated.",
  },
  UnknownNetworkGroup: {
    message: "There is no such network group.",
    http: 422,
    retryable: false,
    hint: "Use one of the default groups or one of the account's own.",
  },
  SimNotFound: {
    message: "The asset has no SIM of this type.",
    http: 404,
    retryable: false,
    hint: "Asset Details lists the SIMs of an asset.",
  },
  AllowanceNotFound: {
    message: "The SIM has no monthly allowance.",
    http: 404,
    retryable: false,
    hint: "Neither its operator says one, nor was one set. Set one with PUT.",
  },
  SimUnknownToOperator: {
    message: "The SIM operator does not know this SIM.",
    http: 422,
    retryable: false,
    hint: "Check the number. A SIM belongs to the account whose credentials at the operator can see it.",
  },
  GranularityNotAvailable: {
    message: "The SIM operator does not count so finely.",
    http: 422,
    retryable: false,
    hint: "details.available names the granularities that this SIM has.",
  },
  SimOperatorFailed: {
    message: "The SIM operator did not carry out the whole change.",
    http: 502,
    retryable: true,
    hint: "details.reason says why; after an update, details say which SIM changed and which did not: repeat it to finish it.",
  },
} as const;
