/** Errors of enrolment codes. */
export const ENROLMENT_ERRORS = {
  EnrolmentCodeUnknown: {
    message: "There is no such enrolment code.",
    http: 404,
    retryable: false,
    hint: "Check the code for typing errors. A newer code makes older ones void; create one with edge-control asset enrolment-code.",
  },
  EnrolmentCodeExpired: {
    message: "The enrolment code has expired.",
    http: 410,
    retryable: false,
    hint: "Create a new code with edge-control asset enrolment-code.",
  },
  EnrolmentCodeUsed: {
    message: "The enrolment code has been used already.",
    http: 409,
    retryable: false,
    hint: "If this device did not use it, another one did: tell the operator. Create a new code with edge-control asset enrolment-code.",
  },
  DeviceInService: {
    message: "A device of this asset has been connected, and this code may not replace it.",
    http: 409,
    retryable: false,
    hint: "Ask a person with the role operator for the code: it replaces the device in service.",
  },
} as const;
