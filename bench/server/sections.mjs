/** The sections of the server suite, in order. */
export const SECTIONS = ['singles', 'lifecycles', 'handover', 'renewals', 'latency', 'readers'];

export const PLAIN_SECTIONS = ['readers'];
