/** The sections of the server suite, in order. */
export const SECTIONS = [
  'singles',
  'lifecycles',
  'handover',
  'renewals',
  'slow-line-renewals',
  'latency',
  'readers',
  'console',
  'time-machine',
];

export const PLAIN_SECTIONS = ['readers'];
